"""How many places a gateway has, alone and beside others."""

from typing import Any

import pytest

from turnout.gateway.overload.places import Places, places_of
from turnout.gateway.replicas import EngineLoad, Replica


def replica(max_running: int | None, **fields: Any) -> Replica:
    return Replica("r", "small", "spot", "http://r", 2048, max_running=max_running, **fields)


def test_places_are_those_of_all_replicas_that_do_not_drain() -> None:
    replicas = [replica(8), replica(4), replica(16, is_draining=True)]
    assert places_of(replicas, own=0, gateways=1) == Places(12)


def test_without_a_replica_there_is_none() -> None:
    assert places_of([], own=0, gateways=1) == Places(0)
    assert places_of([], own=0, gateways=3) == Places(0)


def test_a_replica_that_does_not_tell_has_no_bound() -> None:
    assert places_of([replica(8), replica(None)], own=0, gateways=1).count is None


def test_a_gateway_alone_believes_its_own_count() -> None:
    told = replica(8, load=EngineLoad(waiting=2, running=8))
    assert places_of([told], own=0, gateways=1) == Places(8, is_pressed=True)


@pytest.mark.parametrize(
    ("told", "own", "expected"),
    [
        (0, 0, 8),  # nobody else runs anything
        (5, 2, 5),  # others have 3
        (5, 6, 8),  # all are ours, and one has ended meanwhile
        (8, 0, 4),  # others have all: half is ours
        (20, 4, 4),
    ],
)
def test_of_two_gateways_each_leaves_the_other_what_it_has_and_keeps_a_half(
    told: int, own: int, expected: int
) -> None:
    loaded = replica(8, load=EngineLoad(running=told))
    assert places_of([loaded], own, gateways=2).count == expected


def test_every_gateway_has_at_least_one_place() -> None:
    loaded = replica(2, load=EngineLoad(running=2))
    assert places_of([loaded], own=0, gateways=5).count == 1
