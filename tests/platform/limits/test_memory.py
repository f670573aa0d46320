import asyncio

import pytest
from tests.platform.limits.worlds import MemoryWorld, caller

from turnout.access.caller import Limits
from turnout.config.settings import LimiterSettings
from turnout.limits.claim import Claim

SMALL = LimiterSettings(max_subjects=16, store_timeout_s=0.01)
ONE_A_MINUTE = Limits(requests_per_minute=1)


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld(SMALL)


def accounts(world: MemoryWorld) -> int:
    return len(world.limiter._tallies)


async def test_the_number_of_accounts_is_bounded(world: MemoryWorld) -> None:
    for number in range(100):
        await world.settle(await world.granted(caller(ONE_A_MINUTE, name=str(number))))
        await world.pass_ms(1)
    assert accounts(world) == 16


async def test_accounts_that_are_full_again_go_first(world: MemoryWorld) -> None:
    in_debt = caller(Limits(tokens_per_minute=1), name="in debt")
    await world.settle(await world.granted(in_debt, tokens=1), tokens=1000)
    for number in range(15):
        await world.settle(await world.granted(caller(ONE_A_MINUTE, name=str(number))))
    await world.pass_ms(60_000)
    await world.granted(caller(ONE_A_MINUTE, name="new"))
    await world.refused(in_debt, tokens=1)


async def test_accounts_with_running_requests_stay(world: MemoryWorld) -> None:
    one = Limits(concurrent_requests=1)
    for number in range(20):
        await world.granted(caller(one, name=str(number)))
    await world.pass_ms(120_000)
    for number in range(20):
        await world.refused(caller(one, name=str(number)))


async def test_first_requests_wait_for_the_store_together_and_ask_it_once() -> None:
    world = MemoryWorld(LimiterSettings(store_timeout_s=30))
    world.past.gate, world.past.by_subject = asyncio.Event(), {"key:k1": 0.75}
    who = caller(Limits(usd_per_day=1.0))
    claims = [asyncio.create_task(world.limiter.reserve(who, Claim(0, 0.1))) for _ in range(5)]
    await asyncio.sleep(0.01)
    assert not any(claim.done() for claim in claims)
    world.past.gate.set()
    outcomes = await asyncio.gather(*claims)
    assert [type(outcome).__name__ for outcome in outcomes].count("Reservation") == 2
    assert len(world.past.asked) == 1


async def test_a_store_that_answers_late_is_heard_all_the_same(world: MemoryWorld) -> None:
    world.past.gate, world.past.by_subject = asyncio.Event(), {"key:k1": 0.5}
    who = caller(Limits(usd_per_day=1.0))
    await world.granted(who, cost_usd=0.4)
    world.past.gate.set()
    while not all(each.task.done() for each in world.limiter._past._questions.values()):
        await asyncio.sleep(0)
    assert "$0.1 left" in (await world.refused(who, cost_usd=0.2)).message


async def test_a_store_that_is_down_costs_no_request_a_second_wait() -> None:
    world = MemoryWorld(LimiterSettings(store_timeout_s=0))
    world.past.gate = asyncio.Event()
    who = caller(Limits(usd_per_day=1.0))
    for _ in range(20):
        await world.granted(who, cost_usd=0.01)
    assert len(world.past.asked) <= 1
    world.past.gate.set()
