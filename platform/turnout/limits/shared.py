"""Accounts in Redis or Valkey that several gateway replicas share: one script call for each act."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from turnout.limits import scripts
from turnout.limits.amounts import Payer, Subject
from turnout.limits.past import Answer as Told
from turnout.limits.periods import Period
from turnout.limits.scripts import Account, Answer, Settlement

SharedFault = (RedisError, OSError)
"""What every method raises where the server is away, slow or refuses."""
CONNECTIONS = 16
PATIENCE_S = 1.0
AT_ONCE = 500
"""Tokens in one renewal."""


class SharedAccounts:
    """The scripts, ready to be called; every method raises one of `SharedFault`."""

    def __init__(self, url: str, timeout_s: float, clock: Callable[[], float]) -> None:
        """Requests wait `timeout_s`; what happens behind them may take a second.

        `clock` gives seconds since 1970; the server's own tells the time of every act.
        """
        self._timeout_s = timeout_s
        self._patience_s = max(timeout_s, PATIENCE_S)
        self._clock = clock
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=self._patience_s,
            socket_connect_timeout=self._patience_s,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        self._client = Redis.from_pool(pool)
        script = self._client.register_script
        self._reserve = script(scripts.source("reserve"))
        self._settle = script(scripts.source("settle"))
        self._learn = script(scripts.source("learn"))
        self._renew = script(scripts.source("renew"))

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def ping(self) -> None:
        """Returns when the server answers as fast as requests need it to."""
        async with asyncio.timeout(self._timeout_s):
            await self._client.ping()

    async def reserve(
        self,
        token: str,
        payers: Sequence[Payer],
        need: tuple[int, int],
        lease_ms: int,
        *,
        asks_first: bool,
    ) -> Answer:
        """Grants `need` (units of tokens, billionths of a dollar) or nothing.

        With `asks_first` nothing is done where the spending of a period is not known yet.
        """
        arguments: list[scripts.Argument] = [
            token,
            lease_ms,
            int(asks_first),
            *need,
            *scripts.months_around(self._now_ms()),
        ]
        for payer in payers:
            arguments += scripts.limits_of(payer)
        async with asyncio.timeout(self._timeout_s):
            reply: list[int] = await self._reserve(scripts.claim_keys(token, payers), arguments)
        if len(reply) == 1:
            raise TimeoutError("the claim was given up before it arrived")
        return scripts.answer_of(reply)

    async def learn(self, subject: Subject, period: Period, since_ms: int, told: Told) -> None:
        """Takes in what was spent in a period before."""
        async with asyncio.timeout(self._timeout_s):
            keys = [scripts.account_key(subject)]
            await self._learn(keys, [period, since_ms, told.told, told.own])

    async def settle(self, settlements: Sequence[Settlement]) -> list[list[Account]]:
        """Delivers settlements in one go; those that were delivered before change nothing."""
        pipe: Any = self._client.pipeline(transaction=False)
        for each in settlements:
            keys = scripts.claim_keys(each.token, each.payers)
            await self._settle(keys, each.arguments(self._now_ms()), client=pipe)
        async with asyncio.timeout(self._patience_s):
            return [scripts.accounts_of(numbers) for numbers in await pipe.execute()]

    async def renew(self, tokens: Mapping[Subject, Sequence[str]], lease_ms: int) -> None:
        """Keeps the places of running requests."""
        async with asyncio.timeout(self._patience_s):
            for subject, running in tokens.items():
                for start in range(0, len(running), AT_ONCE):
                    some = running[start : start + AT_ONCE]
                    await self._renew([scripts.leases_key(subject)], [lease_ms, *some])

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)
