from collections.abc import Callable
from dataclasses import asdict

import pytest

from turnout_load.report import facts
from turnout_load.report.headline import headlines, warnings, what_was_run
from turnout_load.result import (
    Client,
    Cost,
    Counts,
    Distribution,
    ErrorKind,
    Goodput,
    ModelUsed,
    PrefixCache,
    Result,
    TokenCheck,
    UsageCheck,
)

Make = Callable[..., Result]
TARGET = {"target": {"endpoint": "completions", "stream": False}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            {
                **TARGET,
                "workload": {"arrivals": "poisson", "rate": 8.0, "input_tokens": "fixed:128"},
                "duration_s": 20.0,
                "warm_up_s": 5.0,
                "seed": 3,
            },
            "completions requests, not streamed, poisson arrivals at 8/s, for 20 s, "
            "fixed:128 input tokens, warm-up 5 s, seed 3",
        ),
        (
            {
                "workload": {"arrivals": "closed", "users": 4, "dataset": "a.jsonl"},
                "requests": 1200,
            },
            "chat requests, streamed, a closed loop of 4 users, 1,200 conversations, "
            "from a.jsonl, seed 0",
        ),
        (
            {"workload": {"arrivals": "ramp", "rate": 1.0, "ramp_to": 9.5, "dataset": "a"}},
            "chat requests, streamed, a ramp from 1/s to 9.5/s, from a, seed 0",
        ),
        (
            {"workload": {"arrivals": "steps", "steps": [1.0, 2.0], "dataset": "a"}},
            "chat requests, streamed, steps of 1/s, 2/s, from a, seed 0",
        ),
        (
            {"workload": {"trace": "azure:t.csv", "speed": 60.0}},
            "chat requests, streamed, as in the trace azure:t.csv at 60 times its speed, seed 0",
        ),
    ],
)
def test_what_was_run_is_told_in_a_sentence(spec: dict[str, object], told: str) -> None:
    assert what_was_run(spec) == told


def test_headlines_are_what_was_measured(make_result: Make) -> None:
    found = {each.name: (each.value, each.detail) for each in headlines(make_result())}
    assert found == {
        "Finished": ("9.90/s", "of 10.0/s intended"),
        "TTFT p95": ("150 ms", "p50 50.0 ms"),
        "E2E p95": ("450 ms", "p50 150 ms"),
        "Output": ("109", "tokens per second"),
        "Failed": ("1.0%", "1 of 100"),
    }


def test_goodput_and_cost_are_headlines_of_a_run_that_has_them(make_result: Make) -> None:
    result = make_result(
        goodput=Goodput(slo=["ttft<1s"], share=0.875, requests_per_s=8.0, missed={"ttft<1s": 12}),
        cost=Cost(
            usd=1.0,
            usd_per_million_tokens=0.25,
            usd_per_million_output_tokens=None,
            because="prices per token",
        ),
        prefix_cache=PrefixCache(input_tokens=4, cached_tokens=1, share=0.25),
    )
    values = [asdict(each) for each in headlines(result)]
    assert {"name": "Goodput", "value": "87.5%", "detail": "ttft<1s"} in values
    assert {"name": "Cost", "value": "$0.2500", "detail": "per million tokens"} in values
    goodput, cost = facts.goodput(result), facts.cost(result)
    assert goodput
    assert cost
    assert ("missed: ttft<1s", "12") in goodput.rows
    assert ("per million output tokens", "\N{EN DASH}") in cost.rows
    assert ("prompt tokens from cache", "25.0%") in facts.throughput(result).rows


def test_percentiles_stand_with_their_intervals(make_result: Make) -> None:
    table = facts.latencies(make_result())
    ttft = dict(zip(table.head, table.rows[0], strict=True))
    assert ttft == {
        "ms": "TTFT",
        "p50": "50.0\n(49.0 to 51.0)",
        "p75": "75.0",
        "p90": "100",
        "p95": "150",
        "p99": "200",
        "p99.9": "250",
        "mean": "50.0",
        "max": "500",
        "of": "1,000",
    }
    assert [row[0] for row in table.rows] == ["TTFT", "E2E"]


def test_requests_in_no_figure_are_counted(make_result: Make) -> None:
    counts = Counts(sent=9, ok=5, failed=1, unfinished=3, warm_up=2)
    rows = facts.throughput(make_result(requests=counts)).rows
    assert ("requests", "9 sent, 5 ok, 1 failed") in rows
    assert ("in no figure", "2 in the warm-up, 3 unfinished") in rows


def test_models_and_errors_have_their_shares(
    make_result: Make, make_distribution: Callable[..., Distribution]
) -> None:
    small = ModelUsed(
        requests=99,
        share=1.0,
        output_tokens=1089,
        ttft_ms=make_distribution(50.0),
        e2e_ms=None,
        usd=0.5,
    )
    errors = {"http 503": ErrorKind(count=1, example="overloaded")}
    result = make_result(models={"": small}, errors=errors)
    assert facts.models(result).rows == [
        ("not told", "99", "100%", "1,089", "150 ms", "\N{EN DASH}", "$0.5000")
    ]
    assert facts.errors(result).rows == [("http 503", "1", "1.0%", "overloaded")]


def test_usage_stands_beside_what_the_tokenizer_counts(make_result: Make) -> None:
    output = TokenCheck(
        answers=256, by_server=9500, by_tokenizer=10000, difference_percent=-5.0, apart=12
    )
    result = make_result(usage_check=UsageCheck(output=output, prompt=None))
    minus = "\N{MINUS SIGN}"
    assert facts.usage(result).rows == [
        ("output", "256", "9,500", "10,000", f"{minus}5.0%", "12"),
    ]
    assert facts.usage(make_result()).rows == []


def test_a_bottleneck_and_an_early_stop_come_before_the_notes(make_result: Make) -> None:
    client = Client(
        processes=1,
        cpu_share=0.99,
        is_bottleneck=True,
        because="a process used 99% of a core",
        connections_opened=1,
        peak_in_flight=1,
        peak_memory_mib=1.0,
    )
    assert warnings(make_result(client=client, was_stopped=True, notes=["a note"])) == [
        "The client was the bottleneck: a process used 99% of a core.",
        "The run was stopped before its end.",
        "a note",
    ]
    assert warnings(make_result()) == []


def test_settings_are_flat_and_leave_out_what_is_not_set() -> None:
    spec = {"target": {"url": "u", "ca_file": None}, "slo": ["a", "b"], "price": {}, "seed": 0}
    assert facts.settings("spec", spec).rows == [
        ("target.url", "u"),
        ("slo", "a, b"),
        ("seed", "0"),
    ]
