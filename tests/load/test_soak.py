"""Drift is what leaves the first window's interval for good, and nothing less."""

import random

import pytest

from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.soak import drifts, windows

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
    cut = windows(run(10, 20, error_every=10), width_s=1.0, duration_s=2.0)
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
    told = drifts(windows(run(*medians), width_s=1.0, duration_s=len(medians)))
    assert bool(told) == bool(found)
    assert all(found in sentence for sentence in told)
