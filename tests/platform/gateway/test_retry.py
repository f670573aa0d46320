"""Retries are a share of requests and a few more; their pauses grow and are never the same."""

from __future__ import annotations

import pytest

from turnout.gateway.retry import RetryBudget, delay_s


def taken(budget: RetryBudget, now_s: float, asked: int = 1000) -> int:
    return sum(budget.take(now_s, share=0.2, floor_per_s=1.0) for _ in range(asked))


def test_without_requests_the_floor_of_ten_seconds_may_be_retried() -> None:
    assert taken(RetryBudget(), 100.0) == 10


def test_a_fifth_of_the_requests_may_be_retried_beside_it() -> None:
    budget = RetryBudget()
    for number in range(200):
        budget.request(100 + number / 100)
    assert taken(budget, 102.0) == 50


def test_what_is_longer_ago_than_ten_seconds_does_not_count() -> None:
    budget = RetryBudget()
    for _ in range(200):
        budget.request(100.0)
    assert taken(budget, 109.0) == 50
    assert taken(budget, 109.5) == 0
    assert taken(budget, 110.5) == 0  # the requests have gone, their retries have not
    assert taken(budget, 120.0) == 10


@pytest.mark.parametrize(("failures", "longest"), [(1, 0.02), (2, 0.04), (3, 0.08), (9, 0.25)])
def test_pauses_double_up_to_a_quarter_of_a_second(failures: int, longest: float) -> None:
    assert delay_s(failures, 1.0) == pytest.approx(longest)
    assert delay_s(failures, 0.5) == pytest.approx(longest / 2)
    assert delay_s(failures, 0.0) == 0
