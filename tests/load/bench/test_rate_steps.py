from __future__ import annotations

import pytest

from turnout_load.bench.rate_steps import Step, next_rate, sent_per_s


def search(limit: float, start: float) -> list[Step]:
    """Returns the steps of a search with a tool that sends up to `limit` requests a second."""
    steps: list[Step] = []
    while (rate := next_rate(start, steps)) is not None:
        steps.append(Step(rate, min(rate, limit)))
        assert len(steps) < 30
    return steps


@pytest.mark.parametrize("limit", [3.0, 70.0, 199.0, 200.0, 333.0, 12_345.0])
def test_the_search_ends_within_a_tenth_of_the_tools_limit(limit: float) -> None:
    kept = max(step.asked for step in search(limit, 200.0) if step.keeps_up)
    assert limit / 1.15 <= kept <= limit / 0.98


def test_a_tool_that_sends_nothing_ends_the_search() -> None:
    assert not any(step.keeps_up for step in search(0.0, 200.0))


def test_a_rate_is_doubled_until_it_is_not_kept_up_with_and_then_lies_between() -> None:
    assert [step.asked for step in search(900.0, 200.0)][:5] == [200, 400, 800, 1600, 1130]


def test_requests_that_come_late_make_the_rate_lower() -> None:
    assert sent_per_s(600, 5.99, 6.0) == 100
    assert sent_per_s(600, 12.0, 6.0) == 50


def test_a_burst_and_then_nothing_is_no_higher_a_rate() -> None:
    assert sent_per_s(60, 0.1, 6.0) == 10
