"""When a request's tokens and cost must be predicted before it runs."""

from __future__ import annotations

import pytest

from turnout.access.caller import ANYONE, Caller, Limits


@pytest.mark.parametrize(
    "limits", [Limits(tokens_per_minute=1), Limits(usd_per_day=1.0), Limits(usd_per_month=1.0)]
)
def test_tokens_and_dollars_are_counted_beforehand_for_key_or_team(limits: Limits) -> None:
    assert Caller("k", "t", key_limits=limits).is_metered
    assert Caller("k", "t", team_limits=limits).is_metered


def test_rates_of_requests_need_no_prediction() -> None:
    limits = Limits(requests_per_minute=1, concurrent_requests=1)
    assert not Caller("k", "t", key_limits=limits, team_limits=limits).is_metered
    assert not ANYONE.is_metered
