"""Which replica gets a request: worked examples."""

from __future__ import annotations

from collections import Counter

import pytest

from turnout.gateway.replicas import InFlight, Replica, pick

MARKETS = ("reserved", "spot")


def replicas(*ids: str) -> list[Replica]:
    """`r1` is a reserved replica, `s1` a spot one, `o1` an on-demand one."""
    markets = {"r": "reserved", "s": "spot", "o": "on_demand"}
    return [Replica(each, "small", markets[each[0]], None, 2048) for each in ids]


@pytest.mark.parametrize(
    ("ids", "running", "tried", "picked"),
    [
        ((), {}, (), None),
        (("s1", "r1"), {}, (), "r1"),
        (("s1", "r1"), {"r1": 1}, (), "s1"),
        (("s1", "r1"), {"r1": 1, "s1": 1}, (), "r1"),
        (("r2", "r1"), {}, (), "r1"),
        (("r1", "r2"), {"r1": 2, "r2": 1}, (), "r2"),
        (("r1", "s1"), {"s1": 9}, ("r1",), "s1"),
        (("r1",), {}, ("r1",), None),
        (("o1",), {}, (), None),
    ],
)
def test_the_least_busy_replica_of_the_preferred_market_is_picked(
    ids: tuple[str, ...], running: dict[str, int], tried: tuple[str, ...], picked: str | None
) -> None:
    got = pick(replicas(*ids), Counter(running), MARKETS, tried)
    assert (got.id if got else None) == picked


def test_counts_of_replicas_that_are_idle_are_forgotten() -> None:
    one, two = replicas("r1", "r2")
    counts = InFlight()
    counts.begin(one)
    counts.begin(one)
    counts.begin(two)
    counts.end(one)
    assert (counts["r1"], counts["r2"], counts["r3"]) == (1, 1, 0)
    counts.end(one)
    counts.end(two)
    assert not counts._running
