"""The moment when a client leaves."""

from __future__ import annotations

from turnout.gateway.departure import Departure


def test_who_asked_first_is_told_then() -> None:
    departure, told = Departure(), list[str]()
    departure.then(lambda: told.append("left"))
    assert told == []
    departure.happen()
    assert told == ["left"]


def test_who_asks_too_late_is_told_at_once() -> None:
    departure, told = Departure(), list[str]()
    departure.happen()
    departure.then(lambda: told.append("left"))
    assert told == ["left"]


def test_who_asks_no_longer_is_not_told() -> None:
    departure, told = Departure(), list[str]()
    departure.then(lambda: told.append("left"))
    departure.then(None)
    departure.happen()
    assert told == []
