"""The search for the highest rate, against servers whose limit is known."""

import dataclasses
import random

import pytest
from msgspec.structs import replace
from tests.load.made import FACTS

from turnout_load.assertions import parse_assertion
from turnout_load.errors import BadOption
from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.result import Result
from turnout_load.spec import Spec, Target, Workload
from turnout_load.summarize import summarize
from turnout_load.sweep import Range, next_rate, sweep
from turnout_load.sweep_result import SweepResult

MS, S = 1_000_000, 1_000_000_000
SPEC = Spec(
    target=Target(url="http://gw/v1", model="m"), workload=Workload(arrivals="poisson"), seed=5
)
RATES = Range(lowest=1.0, highest=64.0)


def search(limit: float, rates: Range = RATES) -> list[float]:
    """Returns the rates tried against a server that meets its SLO up to `limit`."""
    tried: list[tuple[float, bool]] = []
    while (rate := next_rate(tried, rates)) is not None:
        tried.append((rate, rate <= limit))
        assert len(tried) < 30
    return [rate for rate, _ in tried]


def test_rates_double_until_one_fails_and_then_the_interval_is_halved() -> None:
    assert search(5.0)[:5] == pytest.approx([1, 2, 4, 8, 32**0.5])


@pytest.mark.parametrize("limit", [random.Random(1).uniform(1, 64) for _ in range(20)])
def test_the_highest_rate_is_found_within_the_resolution(limit: float) -> None:
    best = max(rate for rate in search(limit) if rate <= limit)
    assert limit / 1.05 <= best <= limit


def test_a_server_that_fails_at_the_lowest_rate_is_asked_once() -> None:
    assert search(0.5) == [1.0]


def test_a_server_without_limit_is_asked_up_to_the_highest_rate() -> None:
    assert search(1000) == [1, 2, 4, 8, 16, 32, 64]


def test_a_rate_that_failed_once_bounds_the_search_although_a_higher_one_was_met() -> None:
    tried = [(1.0, True), (2.0, True), (4.0, False), (8.0, True)]
    assert next_rate(tried, RATES) == pytest.approx(8**0.5)


def answered(rate: float, late_s: float = 0.0) -> Records:
    """Ten seconds of even arrivals, each answered after 50 ms, or all `late_s` after the last."""
    records = Records()
    for number in range(round(10 * rate)):
        at_ns = round(number / rate * S)
        end_ns = round((10 + late_s) * S) if late_s else at_ns + 50 * MS
        records.append(
            Record(
                number, intended_ns=at_ns, sent_ns=at_ns, first_ns=at_ns + 50 * MS, end_ns=end_ns
            )
        )
    return records


def swept(
    *slo: str,
    spec: Spec = SPEC,
    stops_at: float = 1000,
    starts: bool = True,
    grows_at: float = 1000,
    asked: list[Spec] | None = None,
) -> SweepResult:
    """Sweeps from 8/s to 64/s against a server that keeps up below `grows_at`.

    The run at `stops_at` is interrupted, or never `starts`.
    """

    def run(at_rate: Spec) -> tuple[Result, Records]:
        if asked is not None:
            asked.append(at_rate)
        rate = at_rate.workload.rate
        if rate >= stops_at and not starts:
            raise KeyboardInterrupt
        records = answered(rate, late_s=1.0 if rate >= grows_at else 0.0)
        facts = dataclasses.replace(FACTS, was_stopped=rate >= stops_at)
        return summarize(records, at_rate, facts), records

    conditions = [parse_assertion(text, "--slo") for text in slo]
    return sweep(spec, conditions, Range(8.0, 64.0), run, lambda _: None)


@pytest.mark.parametrize("starts", [True, False])
def test_a_rate_that_was_interrupted_is_left_out_and_ends_the_search(starts: bool) -> None:
    asked: list[Spec] = []
    found = swept("ttft.p50<1s", stops_at=32, starts=starts, asked=asked)
    assert [each.workload.rate for each in asked] == [8, 16, 32]
    assert [point.rate for point in found.points] == [8, 16]
    assert found.highest_rate == 16
    assert [note.split(":")[0] for note in found.notes] == ["stopped while 32/s ran"]


def test_a_search_that_is_stopped_at_once_found_nothing() -> None:
    found = swept("ttft.p50<1s", stops_at=1)
    assert (found.points, found.highest_rate, len(found.notes)) == ([], None, 1)


def test_each_rate_is_measured_with_bytes_of_its_own() -> None:
    asked: list[Spec] = []
    swept("ttft.p50<1s", asked=asked)
    assert [each.seed for each in asked] == [5, 6, 7, 8]
    assert [each.workload.skip for each in asked] == [0, 80, 240, 560]


@pytest.mark.parametrize("arrivals", ["closed", "ramp", "steps"])
def test_arrivals_without_one_rate_are_refused_before_a_run(arrivals: str) -> None:
    asked: list[Spec] = []
    with pytest.raises(BadOption, match="a sweep changes their rate"):
        swept("ttft.p50<1s", spec=replace(SPEC, workload=Workload(arrivals=arrivals)), asked=asked)
    assert not asked


def test_a_trace_is_refused_before_a_run() -> None:
    with pytest.raises(BadOption, match="--trace"):
        swept("ttft.p50<1s", spec=replace(SPEC, workload=Workload(trace="azure:a.csv")))


def test_a_rate_at_which_the_queue_grows_does_not_meet_the_slo() -> None:
    found = swept("ttft.p50<1s", grows_at=30)
    assert found.highest_rate is not None
    assert 28 < found.highest_rate < 30
    [at_32] = [point for point in found.points if point.rate == 32]
    assert at_32.because.startswith("the queue grew: ")


def test_too_few_requests_for_a_percentile_are_told() -> None:
    found = swept("ttft.p50<1s", "ttft.p99<1s", "error_rate<1%")
    assert "too few requests to be sure of ttft.p99" in found.points[0].because  # of 80 requests
    assert "too few" not in found.points[-1].because  # of 640


def test_goodput_counts_requests_that_keep_the_latencies_limits() -> None:
    asked: list[Spec] = []
    found = swept("ttft.p99.9 < 20ms", "ttft.p50<20ms", "goodput>0.9", asked=asked)
    assert asked[0].slo == ("ttft < 20ms", "ttft<20ms")
    assert "goodput>0.9 does not hold: measured 0%" in found.points[0].because
    assert (
        "goodput>0.9 holds: measured 100%" in swept("ttft.p50<1s", "goodput>0.9").points[0].because
    )
    with pytest.raises(BadOption, match="a latency beside it"):
        swept("goodput>0.9")
