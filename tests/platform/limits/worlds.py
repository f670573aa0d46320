"""The same limits kept in memory and in Valkey, both on a clock that a test moves."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import redis

from turnout.access.caller import Caller, Limits
from turnout.config.settings import LimiterSettings
from turnout.limits import scripts
from turnout.limits.alerts import BudgetAlert
from turnout.limits.amounts import Subject
from turnout.limits.claim import Claim, Refusal, Reservation
from turnout.limits.memory import MemoryLimiter
from turnout.limits.redis import RedisLimiter

START_MS = int(datetime(2026, 3, 14, 12, tzinfo=UTC).timestamp()) * 1000
SETTINGS = LimiterSettings(redis_timeout_s=30, lease_s=1e7)  # beyond every jump of the clock
SOURCE = scripts.source


def with_a_clock_of_its_own(clock_key: str) -> Callable[[str], str]:
    """Returns the scripts' sources reading the time from a list instead of the server's clock."""
    return lambda name: SOURCE(name).replace(
        "redis.call('TIME')", f"redis.call('LRANGE', '{clock_key}', 0, 1)"
    )


NO_LIMITS = Limits()


def caller(key: Limits = NO_LIMITS, team: Limits = NO_LIMITS, name: str = "k1") -> Caller:
    return Caller(key_id=name, team="search", key_limits=key, team_limits=team)


@dataclass
class Past:
    """A store that tells what was spent before, or fails."""

    by_subject: dict[str, float] = field(default_factory=dict)
    asked: list[tuple[str, float]] = field(default_factory=list)
    fails: bool = False
    gate: asyncio.Event | None = None
    """Answers only once it is set."""

    async def spent_usd(self, subject: Subject, since_s: float) -> float:
        self.asked.append((str(subject), since_s))
        if self.gate:
            await self.gate.wait()
        if self.fails:
            raise ConnectionError("no store")
        return self.by_subject.get(str(subject), 0.0)


class World:
    """A limiter on a clock of its own."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self.past = Past()
        self.alerts: list[BudgetAlert] = []
        self.limiter: Any

    def clock(self) -> float:
        return self.now_ms / 1000

    async def pass_ms(self, ms: int) -> None:
        await self.settled()
        self.now_ms += ms

    async def settled(self) -> None:
        """Returns once every settlement is written."""

    async def close(self) -> None:
        """Ends the limiter."""

    async def reserve(
        self, who: Caller, tokens: int = 0, cost_usd: float = 0
    ) -> Reservation | Refusal:
        await self.settled()
        outcome: Reservation | Refusal = await self.limiter.reserve(who, Claim(tokens, cost_usd))
        return outcome

    async def granted(self, who: Caller, tokens: int = 0, cost_usd: float = 0) -> Reservation:
        outcome = await self.reserve(who, tokens, cost_usd)
        assert isinstance(outcome, Reservation), outcome
        return outcome

    async def refused(self, who: Caller, tokens: int = 0, cost_usd: float = 0) -> Refusal:
        outcome = await self.reserve(who, tokens, cost_usd)
        assert isinstance(outcome, Refusal), outcome
        return outcome

    async def settle(self, granted: Reservation, tokens: int = 0, cost_usd: float = 0) -> None:
        self.limiter.settle(granted, Claim(tokens, cost_usd))
        await self.settled()


class MemoryWorld(World):
    def __init__(self, settings: LimiterSettings = SETTINGS) -> None:
        super().__init__()
        self.limiter = MemoryLimiter(
            settings, self.past.spent_usd, self.alerts.append, clock=self.clock
        )


class RedisWorld(World):
    """On a Valkey; `scripts.source` must have been replaced by the one with the clock's key."""

    numbers = itertools.count()

    def __init__(self, url: str, settings: LimiterSettings = SETTINGS) -> None:
        super().__init__()
        self.valkey = redis.Redis.from_url(url)
        self.valkey.flushall()
        self._tell_the_time()
        self.limiter = self.another(url, settings)

    def another(self, url: str, settings: LimiterSettings = SETTINGS) -> RedisLimiter:
        """Returns a limiter on the same accounts, as another gateway replica has one."""
        return RedisLimiter(
            url, settings, self.past.spent_usd, self.alerts.append, clock=self.clock
        )

    async def pass_ms(self, ms: int) -> None:
        await super().pass_ms(ms)
        self._tell_the_time()

    def _tell_the_time(self) -> None:
        seconds, ms = divmod(self.now_ms, 1000)
        with self.valkey.pipeline() as pipe:
            pipe.delete(CLOCK_KEY)
            pipe.rpush(CLOCK_KEY, seconds, ms * 1000)
            pipe.execute()

    async def settled(self) -> None:
        while self.limiter.unsettled:
            await asyncio.sleep(0.001)

    async def close(self) -> None:
        await self.limiter.close()
        self.valkey.close()


CLOCK_KEY = "clock"
