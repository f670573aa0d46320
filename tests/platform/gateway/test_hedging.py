"""Streams whose first token is late are asked for twice; the slower engine is stopped."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import CHAT, eventually

if TYPE_CHECKING:
    from tests.platform.gateway.system import System


@pytest.fixture
async def pair(bare: System) -> tuple[FakeEngine, FakeEngine]:
    """Two replicas whose first tokens have come soon so far."""
    engines = await bare.add(FakeEngine(), name="a"), await bare.add(FakeEngine(), name="b")
    hedges = bare.gateway._relay._fleet.hedges["small"]
    for _ in range(100):
        hedges.request(0.05)
        hedges.learn(0.05)
    return engines


async def test_the_other_replica_answers_when_one_hangs(
    bare: System, pair: tuple[FakeEngine, FakeEngine]
) -> None:
    slow, fast = pair
    slow.stalls = True
    # The balancer learns which one is fast: asked at once, some go to the slow one first.
    for answer in await asyncio.gather(*(bare.chat(stream=True) for _ in range(4))):
        assert answer.content == b"".join(fast.events(CHAT, {}))
    await eventually(lambda: slow.running == 0)
    assert len(slow.received) >= 1
    assert await bare.metric("turnout_hedges_won_total", model="small") >= 1
    words = len(fast.words)
    assert await bare.metric("turnout_tokens_total", kind="completion") == 4 * words


async def test_the_first_replica_is_not_given_up_when_the_second_fails(
    bare: System, pair: tuple[FakeEngine, FakeEngine]
) -> None:
    for engine in pair:
        engine.delay_s = 0.3
    pair[0].dies_after = 0
    answer = await asyncio.wait_for(bare.chat(stream=True), 10)
    assert answer.content == b"".join(pair[1].events(CHAT, {}))


async def test_without_budget_nobody_is_asked_twice(
    bare: System, pair: tuple[FakeEngine, FakeEngine]
) -> None:
    bare.configure(failover={"hedge_share": 0})
    hedges = bare.gateway._relay._fleet.hedges["small"]
    while hedges.take():
        pass
    for engine in pair:
        engine.delay_s = 0.1
    await bare.chat(stream=True)
    assert sum(len(engine.received) for engine in pair) == 1


async def test_a_client_that_leaves_stops_both(
    bare: System, pair: tuple[FakeEngine, FakeEngine]
) -> None:
    from tests.platform.gateway.system import HI, http_post  # noqa: PLC0415

    for engine in pair:
        engine.stalls = True
    body = {"model": "small", "messages": HI, "stream": True}
    await bare.leave(http_post(body), lambda: all(engine.running for engine in pair))
    await eventually(lambda: not any(engine.running for engine in pair), within_s=2)


async def test_a_replica_without_a_free_place_is_not_asked_for_a_late_one(
    bare: System, pair: tuple[FakeEngine, FakeEngine]
) -> None:
    replicas = bare.table.by_model["small"]
    replicas[:] = [replace(each, max_running=1) for each in replicas]
    for engine in pair:
        engine.delay_s = 0.2
    await asyncio.gather(bare.chat(stream=True), bare.chat(stream=True))
    assert [len(engine.received) for engine in pair] == [1, 1]
