"""Limits that several gateway replicas share, kept in Redis or Valkey.

A request waits for one script call; settlements are written behind it. While the server is slow or
away, each replica keeps limits of its own in memory and goes on answering; what is spent then is
charged to the shared budgets afterwards.
"""

import itertools
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from turnout.access.caller import Caller
from turnout.config.settings import LimiterSettings
from turnout.limits.alerts import BudgetAlert, OnAlert, alert_of, log_alert
from turnout.limits.amounts import Payer, Subject, need_of, payers_of
from turnout.limits.claim import Claim, Refusal, Reservation
from turnout.limits.memory import MemoryLimiter
from turnout.limits.past import PastSpending, SpentUsd, nothing_spent
from turnout.limits.periods import Period, Periods, periods_at
from turnout.limits.scripts import Account, Answer, Settlement, Status
from turnout.limits.shared import SharedAccounts, SharedFault
from turnout.limits.verdict import after, headers, refusal
from turnout.limits.write_behind import WriteBehind


class _Shared(NamedTuple):
    """A claim that the shared accounts granted."""

    payers: Sequence[Payer]
    periods: Periods
    born: Sequence[int]


class _Local(NamedTuple):
    """A claim that was granted here while they were away."""

    payers: Sequence[Payer]
    periods: Periods
    limiter: MemoryLimiter
    reservation: Reservation


class RedisLimiter:
    """Grants claims on accounts that all gateway replicas share; `close` it in the end."""

    def __init__(
        self,
        url: str,
        settings: LimiterSettings | None = None,
        spent_usd: SpentUsd = nothing_spent,
        on_alert: OnAlert = log_alert,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Connects when the first request comes. `spent_usd` tells what was spent before.

        `clock` (seconds since 1970) counts while the server is away; else the server's does.
        """
        self._settings = settings or LimiterSettings()
        self._spent_usd, self._on_alert, self._clock = spent_usd, on_alert, clock
        self._past = PastSpending(spent_usd, self._settings.store_timeout_s)
        self._accounts = SharedAccounts(url, self._settings.redis_timeout_s, clock)
        self._behind = WriteBehind(
            self._accounts, self._settings.lease_s, self._running, self._delivered
        )
        self._grants: dict[str, _Shared | _Local] = {}
        self._id, self._numbers = secrets.token_hex(8), itertools.count()
        self._local: MemoryLimiter | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the shared accounts are in use, not those in memory."""
        return self._behind.is_up

    @property
    def unsettled(self) -> int:
        """Settlements that are not written yet."""
        return self._behind.unsettled

    async def close(self) -> None:
        """Delivers what waits if that is possible now, and closes the connections."""
        await self._behind.close()
        await self._accounts.close()

    async def reserve(self, caller: Caller, claim: Claim) -> Reservation | Refusal:
        """Grants all of a claim or nothing, for the key and its team together."""
        payers = payers_of(caller)
        if not payers:
            return Reservation(caller, claim)
        self._behind.start()
        token = f"{self._id}:{next(self._numbers)}"
        if self._behind.is_up:
            try:
                return await self._reserve_shared(token, caller, claim, payers)
            except SharedFault as fault:
                self._behind.lost(fault)
        return await self._reserve_locally(f"{token}:local", caller, claim, payers)

    def settle(self, reservation: Reservation, spent: Claim) -> None:
        """Replaces what was reserved by what was used; a second time changes nothing."""
        grant = self._grants.pop(reservation.token, None)
        if grant is None:
            return
        _, tokens, _, cost, _ = need_of(spent)
        token, payers, periods = reservation.token, grant.payers, grant.periods
        if isinstance(grant, _Local):
            grant.limiter.settle(grant.reservation, spent)
            budgets = [limit for payer in payers for limit in payer.capacity[3:]]
            if cost and any(budget is not None for budget in budgets):
                self._behind.send(Settlement(token, "charge", payers, periods, cost=cost))
            return
        _, had_tokens, _, had_cost, _ = need_of(reservation.claim)
        more_tokens, more_cost = tokens - had_tokens, cost - had_cost
        self._behind.send(
            Settlement(token, "settle", payers, periods, more_tokens, more_cost, cost, grant.born)
        )

    async def _reserve_shared(
        self, token: str, caller: Caller, claim: Claim, payers: Sequence[Payer]
    ) -> Reservation | Refusal:
        answer = await self._ask(token, claim, payers, asks_first=True)
        if answer.status == Status.UNKNOWN:
            await self._learn(payers, answer)
            answer = await self._ask(token, claim, payers, asks_first=False)
        need = need_of(claim)
        pairs = zip(payers, answer.accounts, strict=True)
        standings = [account.standing(payer) for payer, account in pairs]
        if answer.status != Status.GRANTED:
            return refusal(standings, need, answer.now_ms)
        born = [account.born for account in answer.accounts]
        self._grants[token] = _Shared(payers, answer.periods, born)
        self._local = None
        return Reservation(caller, claim, headers(after(standings, need)), token)

    async def _ask(
        self, token: str, claim: Claim, payers: Sequence[Payer], *, asks_first: bool
    ) -> Answer:
        """Asks for a grant; one whose answer does not come back is released again."""
        _, tokens, _, cost, _ = need_of(claim)
        asked_in = periods_at(int(self._clock() * 1000))
        answer = None
        try:
            answer = await self._accounts.reserve(
                token, payers, (tokens, cost), self._lease_ms, asks_first=asks_first
            )
        finally:
            if answer is None:
                self._behind.send(Settlement(token, "release", payers, asked_in, -tokens, -cost))
        self._report(payers, answer.accounts)
        return answer

    async def _learn(self, payers: Sequence[Payer], answer: Answer) -> None:
        """Takes in what the store knows of spending before the accounts began."""
        for payer, account in zip(payers, answer.accounts, strict=True):
            if not account.day_known:
                await self._learn_one(payer.subject, "day", answer.periods.day, account.day_spent)
            if not account.month_known:
                since_ms, own = answer.periods.month, account.month_spent
                await self._learn_one(payer.subject, "month", since_ms, own)

    async def _learn_one(self, subject: Subject, period: Period, since_ms: int, own: int) -> None:
        told = await self._past.since(subject, since_ms, own)
        if told is not None:
            await self._accounts.learn(subject, period, since_ms, told)
            self._past.forget(subject, since_ms)

    async def _reserve_locally(
        self, token: str, caller: Caller, claim: Claim, payers: Sequence[Payer]
    ) -> Reservation | Refusal:
        """Each time the accounts are lost, local ones begin anew."""
        limiter = self._local
        if limiter is None:  # their alerts would repeat the shared ones
            limiter = MemoryLimiter(self._settings, self._spent_usd, _say_nothing, self._clock)
            self._local = limiter
        granted = await limiter.reserve(caller, claim)
        if isinstance(granted, Refusal):
            return granted
        periods = periods_at(int(self._clock() * 1000))
        self._grants[token] = _Local(payers, periods, limiter, granted)
        return replace(granted, token=token)

    @property
    def _lease_ms(self) -> int:
        return int(self._settings.lease_s * 1000)

    def _running(self) -> Mapping[Subject, Sequence[str]]:
        tokens: dict[Subject, list[str]] = defaultdict(list)
        for token, grant in self._grants.items():
            if isinstance(grant, _Shared):
                for payer in grant.payers:
                    tokens[payer.subject].append(token)
        return tokens

    def _delivered(self, settlement: Settlement, accounts: Sequence[Account]) -> None:
        if accounts:
            self._report(settlement.payers, accounts)

    def _report(self, payers: Sequence[Payer], accounts: Sequence[Account]) -> None:
        for payer, account in zip(payers, accounts, strict=True):
            subject, budgets = payer.subject, payer.capacity
            if account.alert_day and budgets.day is not None:
                self._on_alert(alert_of(subject, "day", account.day_spent, budgets.day))
            if account.alert_month and budgets.month is not None:
                self._on_alert(alert_of(subject, "month", account.month_spent, budgets.month))


def _say_nothing(_alert: BudgetAlert) -> None:
    """Drops an alert."""
