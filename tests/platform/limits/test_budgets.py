"""Dollars a day and a month, the same in memory and in Valkey."""

import pytest
from tests.platform.limits.worlds import START_MS, World, caller

from turnout.access.caller import Limits
from turnout.limits.amounts import Subject

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


async def test_a_budget_stops_hard_at_its_end(world: World) -> None:
    who = caller(Limits(usd_per_day=1.0))
    await world.granted(who, cost_usd=0.6)
    refused = await world.refused(who, cost_usd=0.41)
    assert refused.reason == "budget"
    assert refused.message == (
        "this key may use $1 per day (UTC); $0.4 left, and this request needs about $0.41; "
        "try again in 12h0m0s"
    )
    assert refused.retry_after_s == 12 * 3600  # it is noon
    assert refused.headers["x-should-retry"] == "false"
    await world.granted(who, cost_usd=0.4)


async def test_the_predicted_cost_is_replaced_by_the_real_one(world: World) -> None:
    who = caller(Limits(usd_per_month=1.0))
    await world.settle(await world.granted(who, cost_usd=0.9), cost_usd=0.2)
    await world.settle(await world.granted(who, cost_usd=0.1), cost_usd=0.5)
    await world.refused(who, cost_usd=0.300001)
    await world.granted(who, cost_usd=0.3)


async def test_a_real_cost_beyond_the_budget_stops_what_follows(world: World) -> None:
    who = caller(Limits(usd_per_day=1.0))
    await world.settle(await world.granted(who, cost_usd=0.1), cost_usd=1.5)
    assert "$0 left" in (await world.refused(who, cost_usd=0.0001)).message


async def test_a_new_day_and_a_new_month_begin_with_whole_budgets(world: World) -> None:
    who = caller(Limits(usd_per_day=1.0, usd_per_month=2.0))
    await world.granted(who, cost_usd=1.0)
    await world.refused(who, cost_usd=1.0)
    await world.pass_ms(12 * HOUR_MS)  # 15 March, midnight
    await world.granted(who, cost_usd=1.0)
    await world.pass_ms(DAY_MS)
    refused = await world.refused(who, cost_usd=0.5)
    assert "$2 per month" in refused.message
    assert refused.retry_after_s == 16 * 24 * 3600  # from 16 March to 1 April
    await world.pass_ms(16 * DAY_MS)
    await world.granted(who, cost_usd=1.0)


async def test_a_request_counts_for_the_day_it_came_in(world: World) -> None:
    who = caller(Limits(usd_per_day=1.0))
    over_midnight = await world.granted(who, cost_usd=0.5)
    await world.pass_ms(12 * HOUR_MS)
    await world.settle(over_midnight, cost_usd=0.9)
    await world.granted(who, cost_usd=1.0)


async def test_many_small_costs_add_up_to_the_budget_exactly(world: World) -> None:
    who = caller(Limits(usd_per_day=0.3))
    for _ in range(3):
        await world.granted(who, cost_usd=0.1)  # in floats 0.1 + 0.1 + 0.1 is above 0.3
    await world.refused(who, cost_usd=1e-9)


async def test_what_was_spent_before_the_start_counts(world: World) -> None:
    world.past.by_subject = {"team:search": 0.9}
    who = caller(team=Limits(usd_per_day=1.0))
    await world.refused(who, cost_usd=0.2)
    await world.granted(who, cost_usd=0.1)
    await world.refused(who, cost_usd=0.1)
    midnight_s = START_MS / 1000 - 12 * 3600
    assert world.past.asked == [("team:search", midnight_s)]


async def test_the_store_is_asked_for_each_subject_and_period_once(world: World) -> None:
    both = Limits(usd_per_day=1.0, usd_per_month=5.0)
    for _ in range(3):
        await world.granted(caller(both, both), cost_usd=0.01)
    midnight_s, first_s = START_MS / 1000 - 12 * 3600, START_MS / 1000 - 12 * 3600 - 13 * 86400
    assert sorted(world.past.asked) == [
        ("key:k1", first_s),
        ("key:k1", midnight_s),
        ("team:search", first_s),
        ("team:search", midnight_s),
    ]


async def test_a_budget_given_while_requests_run_is_not_forgotten_when_they_end(
    world: World,
) -> None:
    rate, world.past.by_subject = Limits(requests_per_minute=100), {"key:k1": 0.5}
    running = await world.granted(caller(rate))
    with_budget = caller(Limits(requests_per_minute=100, usd_per_day=1.0))
    await world.granted(with_budget, cost_usd=0.3)
    world.past.by_subject = {}
    await world.settle(running)
    assert "$0.2 left" in (await world.refused(with_budget, cost_usd=0.3)).message


async def test_without_the_store_limits_go_on_with_what_they_know(world: World) -> None:
    world.past.fails = True
    who = caller(Limits(usd_per_day=1.0))
    await world.granted(who, cost_usd=0.7)
    await world.refused(who, cost_usd=0.7)


async def test_a_budget_nearly_spent_is_reported_once_a_period(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    who = caller(Limits(usd_per_day=1.0, alert_share=0.5))
    await world.settle(await world.granted(who, cost_usd=0.1), cost_usd=0.49)
    assert world.alerts == []
    await world.settle(await world.granted(who, cost_usd=0.0), cost_usd=0.01)
    await world.settle(await world.granted(who, cost_usd=0.1), cost_usd=0.1)
    [alert] = world.alerts
    assert (alert.subject, alert.period) == (Subject("key", "k1"), "day")
    assert (alert.spent_usd, alert.budget_usd) == (0.5, 1.0)
    await world.pass_ms(DAY_MS)
    await world.settle(await world.granted(who, cost_usd=0.5), cost_usd=0.5)
    assert [alert.period for alert in world.alerts] == ["day", "day"]


async def test_a_budget_spent_before_the_start_is_reported_though_nothing_is_granted(
    world: World,
) -> None:
    world.past.by_subject = {"key:k1": 2.0}
    await world.refused(caller(Limits(usd_per_month=1.0)), cost_usd=0.1)
    await world.refused(caller(Limits(usd_per_month=1.0)), cost_usd=0.1)
    assert [(alert.period, alert.spent_usd) for alert in world.alerts] == [("month", 2.0)]
