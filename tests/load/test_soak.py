"""Drift is what leaves the first window's interval for good, and nothing less."""

import random

import pytest

from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.soak import drifts, unjudged, windows

S = 1_000_000_000


def run(*medians_ms: float, error_every: int = 0) -> Records:
    """Returns 200 requests in each second, whose latencies lie around that second's median."""
    draw, records = random.Random(3), Records()
    for second, median in enumerate(medians_ms):
        for number in range(200):
            begin = second * S + number * S // 200
            end = begin + round(median * draw.uniform(0.9, 1.1) * 1e6)
            failed = error_every and number % error_every == 0
            error = "timeout" if failed else ""
            records.append(Record(number, intended_ns=begin, first_ns=end, end_ns=end, error=error))
    return records


def test_windows_hold_what_was_to_be_sent_within_them() -> None:
    cut = windows(run(10, 20, error_every=10), width_s=1.0)
    assert [(each.begin_s, each.sent, each.failed) for each in cut] == [(0, 200, 20), (1, 200, 20)]
    medians = [each.latencies["e2e"] for each in cut]
    assert [found.p50 for found in medians if found] == pytest.approx([10, 20], rel=0.02)


@pytest.mark.parametrize(
    ("medians", "found"),
    [
        ((10, 10, 10, 10, 10, 10, 10, 10), ""),
        ((10, 10, 12, 14, 16, 18, 20, 22), "rose"),
        ((20, 20, 18, 16, 14, 12, 10, 10), "fell"),
        ((50, 10, 10, 10, 10, 10, 10, 10), ""),  # a slow start is a warm-up
        ((10, 10, 10, 30, 10, 10, 10, 10), ""),  # a bad minute is no drift
        ((10, 10, 10), ""),  # too short to tell
    ],
)
def test_drift_is_told_by_its_way(medians: tuple[float, ...], found: str) -> None:
    told = drifts(windows(run(*medians), width_s=1.0))
    assert bool(told) == bool(found)
    assert all(found in sentence for sentence in told)


def test_what_is_sent_while_last_answers_are_waited_for_makes_no_window() -> None:
    records = run(10, 10, 12, 14, 16, 18, 20, 22)
    records.append(Record(9, turn=1, intended_ns=11 * S, first_ns=12 * S, end_ns=12 * S))
    cut = windows(records, width_s=1.0)
    assert [each.sent for each in cut] == [200] * 8
    assert "rose" in drifts(cut)[0]


def test_a_last_window_of_which_less_than_half_was_sent_is_left_out() -> None:
    records = run(10, 10)
    records.append(Record(400, intended_ns=2 * S + S // 4))
    assert [each.sent for each in windows(records, width_s=1.0)] == [200, 200]
    assert [each.begin_s for each in windows(run(10), width_s=10.0)] == [0]


def test_too_few_windows_or_answers_are_told_and_not_judged() -> None:
    assert "takes 4 windows, and the run has 3" in unjudged(windows(run(10, 10, 10), 1.0))[0]
    assert unjudged(windows(run(10, 10, 10, 10), 1.0)) == []
    failed = windows(run(10, 10, 10, 10, error_every=1), 1.0)
    assert [each.split(" is not")[0] for each in unjudged(failed)] == [
        "drift of ttft",
        "drift of e2e",
    ]
