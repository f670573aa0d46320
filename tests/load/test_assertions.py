from __future__ import annotations

import pytest

from turnout_load.assertions import check, measured, parse_assertion
from turnout_load.errors import BadOption
from turnout_load.metrics import METRICS
from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.result import Result
from turnout_load.spec import Spec, Target
from turnout_load.summarize import Facts, summarize

MS, S = 1_000_000, 1_000_000_000


def run(answers: int = 99, price: dict[str, str] | None = None) -> Result:
    """TTFTs of 1, 2, 3, … ms, ten tokens in ten chunks of 10 ms, one failure; 10 s long."""
    records = Records()
    records.append(Record(index=0, intended_ns=0, sent_ns=0, end_ns=5, error="connect"))
    for number in range(1, answers + 1):
        at_ns = number * S // 20
        first_ns = at_ns + number * MS
        last_ns = first_ns + 90 * MS
        records.append(
            Record(
                index=number,
                intended_ns=at_ns,
                sent_ns=at_ns,
                first_ns=first_ns,
                last_ns=last_ns,
                end_ns=last_ns if number < answers else 10 * S,
                chunks=10,
                input_tokens=90,
                output_tokens=10,
            )
        )
    spec = Spec(
        target=Target(url="http://127.0.0.1:1/v1", model="m"),
        slo=("ttft<90.5ms",),
        price=price or {},
    )
    return summarize(records, spec, Facts("", 10, False, {}, 1, 0.1, 1, 1, 1))


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("ttft.p50<51ms", 50, True),
        ("ttft.p50<50ms", 50, False),
        ("ttft.p50<=0.05s", 50, True),
        ("ttft.max<99ms", 99, False),
        ("ttft.p99.9>98ms", 98.902, True),
        ("output_tps.mean>99", 100, True),
        ("goodput>0.89", 0.9, True),
        ("goodput>90%", 0.9, False),
        ("goodput>=90%", 0.9, True),
        ("error_rate<1%", 0.01, False),
        ("error_rate<=1%", 0.01, True),
        ("output_tokens_per_s>98", 99, True),
        ("requests_per_s>=9.9", 9.9, True),
        ("usd_per_million_tokens<0.5", 0.19, True),
        ("usd_per_million_output_tokens<0.5", 1.9, False),
    ],
)
def test_an_assertion_is_checked_against_what_was_measured(
    text: str, value: float, holds: bool
) -> None:
    [checked] = check(run(price={"*": "0.10/1.00"}), [parse_assertion(text)])
    assert checked.text == text
    assert checked.value == pytest.approx(value)
    assert checked.holds is holds


def test_what_the_run_did_not_measure_does_not_hold() -> None:
    texts = ["usd_per_million_tokens<5", "prefix_cache>=0", "itl.p50<9s", "ttft.p50<9s"]
    for checked in check(run(answers=0), [parse_assertion(text) for text in texts]):
        assert (checked.value, checked.holds) == (None, False)
        assert checked.sentence == f"{checked.text} does not hold: the run did not measure it"


def test_a_checked_assertion_says_how_far_off_it_is() -> None:
    texts = ["ttft.p50<10ms", "goodput>0.5", "output_tokens_per_s>98"]
    assert [each.sentence for each in check(run(), [parse_assertion(text) for text in texts])] == [
        "ttft.p50<10ms does not hold: measured 50 ms",
        "goodput>0.5 holds: measured 90%",
        "output_tokens_per_s>98 holds: measured 99",
    ]


def test_every_metric_of_a_request_can_be_asserted_by_its_name() -> None:
    result = run()
    found = {metric.name: measured(result, f"{metric.name}.p50") for metric in METRICS}
    assert found.keys() >= {"ttft", "itl", "tpot", "e2e", "output_tps", "send_delay"}
    assert found["ttft"] is not None


@pytest.mark.parametrize("text", ["ttft<500ms", "ttft.p98<500ms", "speed>1", "goodput.p50>1"])
def test_a_name_that_is_no_figure_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(BadOption) as refused:
        parse_assertion(text)
    said = str(refused.value)
    assert said.startswith(f"--assert {text!r}: expected METRIC.STATISTIC (ttft, itl, ")
    assert "p99.9) or goodput, error_rate, " in said


def test_a_sweeps_slo_is_refused_under_its_own_option() -> None:
    with pytest.raises(BadOption, match="--slo 'p95<500ms'"):
        parse_assertion("p95<500ms", "--slo")
