"""A stream that goes quiet is lost; one whose client is slow is not."""

from __future__ import annotations

import asyncio

import pytest
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import System, events_of

from turnout.gateway.stall import StallWatch


async def test_quiet_for_too_long_is_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with StallWatch(0.05):
            await asyncio.Event().wait()


async def test_waiting_for_a_slow_client_is_none() -> None:
    async with StallWatch(0.05) as watch:
        watch.is_sending = True
        await asyncio.sleep(0.3)


async def test_whoever_is_heard_is_not_quiet() -> None:
    async with StallWatch(1.0) as watch:
        for _ in range(20):
            watch.heard()
            await asyncio.sleep(0.1)


async def test_a_cancelled_stream_is_no_timeout() -> None:
    async def wait() -> None:
        async with StallWatch(30):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_stream_that_stalls_is_lost(system: System, small: FakeEngine) -> None:
    system.configure(failover={"stall_timeout_s": 0.2})
    small.stalls_after = 2
    answer = await asyncio.wait_for(system.chat(stream=True), 10)
    assert "replica_lost" in events_of(answer.text)[-1]
