"""A queue grows where requests come faster than they end, and only there."""

import pytest

from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.stability import backlog

S = 1_000_000_000


def served(rate: int, capacity: int, latency_s: float = 0.1, seconds: int = 30) -> Records:
    """Even arrivals at one server that ends `capacity` a second, `latency_s` after their service.

    Deterministic: request n leaves the queue at max(its arrival, the one before) + 1/capacity.
    """
    records, free_s = Records(), 0.0
    for number in range(rate * seconds):
        at_s = number / rate
        free_s = max(at_s, free_s) + 1 / capacity
        records.append(
            Record(number, intended_ns=round(at_s * S), end_ns=round((free_s + latency_s) * S))
        )
    return records


@pytest.mark.parametrize(
    ("rate", "capacity", "latency_s", "grows"),
    [
        (100, 200, 0.1, False),
        (100, 101, 0.1, False),
        (10, 11, 5.0, False),  # 50 always in flight, but no more at the end than in the middle
        (100, 80, 0.1, True),  # 1500 come in the second half, 1200 end
        (100, 95, 0.1, False),  # 5% left over: within the tenth
        (10, 5, 0.1, True),
    ],
)
def test_a_rate_above_capacity_is_told_from_a_long_latency(
    rate: int, capacity: int, latency_s: float, grows: bool
) -> None:
    assert bool(backlog(served(rate, capacity, latency_s), warm_up_s=0)) == grows


def test_the_sentence_has_the_counts() -> None:
    told = backlog(served(100, 50, latency_s=0), warm_up_s=0)
    assert told.startswith("the queue grew: 1500 requests came in the second half")
    assert "and 750 ended" in told


def test_few_requests_are_left_over_by_chance() -> None:
    records = Records()
    for number in range(8):
        records.append(Record(number, intended_ns=number * S, end_ns=60 * S))
    assert backlog(records, warm_up_s=0) == ""
    assert backlog(Records(), warm_up_s=0) == ""


def test_a_queue_that_only_grew_in_the_warm_up_is_none() -> None:
    records = served(100, 50, latency_s=0, seconds=10)
    for number in range(30 * 100):
        at_ns = (20 + number // 100) * S
        records.append(Record(number, intended_ns=at_ns, end_ns=at_ns + S // 10))
    assert backlog(records, warm_up_s=20) == ""
