"""The search for the highest rate, against servers whose limit is known."""

import random

import pytest

from turnout_load.sweep import Range, next_rate

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
