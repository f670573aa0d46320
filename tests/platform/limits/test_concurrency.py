"""Running requests, the same in memory and in Valkey."""

import asyncio

from tests.platform.limits.worlds import World, caller

from turnout.access.caller import Limits
from turnout.limits.claim import Claim, Reservation


async def test_no_more_requests_run_at_once_than_allowed(world: World) -> None:
    who = caller(Limits(concurrent_requests=2))
    first = await world.granted(who)
    await world.granted(who)
    refused = await world.refused(who)
    assert (refused.reason, refused.retry_after_s) == ("concurrency", 1.0)
    assert refused.message == (
        "this key may use 2 requests at the same time, and all of them are in use; try again in 1s"
    )
    await world.settle(first)
    await world.granted(who)
    await world.refused(who)


async def test_claims_made_at_the_same_time_share_what_is_left(world: World) -> None:
    key, team = Limits(concurrent_requests=7), Limits(tokens_per_minute=50, requests_per_minute=9)
    claims = (world.limiter.reserve(caller(key, team), Claim(10, 0)) for _ in range(30))
    outcomes = await asyncio.gather(*claims)
    assert sum(isinstance(outcome, Reservation) for outcome in outcomes) == 5


async def test_places_are_counted_also_before_there_is_a_limit(world: World) -> None:
    team = Limits(requests_per_minute=100)
    await world.granted(caller(team=team))
    limited = caller(team=Limits(requests_per_minute=100, concurrent_requests=1))
    assert (await world.refused(limited)).reason == "concurrency"
