"""Limits of one gateway process, kept in its memory."""

import itertools
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from turnout.access.caller import Caller
from turnout.config.settings import LimiterSettings
from turnout.limits.alerts import OnAlert, alert_of, log_alert
from turnout.limits.amounts import Payer, Subject, need_of, payers_of
from turnout.limits.claim import Claim, Refusal, Reservation
from turnout.limits.past import PastSpending, SpentUsd, nothing_spent
from turnout.limits.periods import Periods, periods_at
from turnout.limits.tally import Tally
from turnout.limits.verdict import Standing, fits, headers, refusal

LOOKS_AT = 8
"""Accounts looked at, oldest first, for one to drop: keeps the work of a request constant."""


class _Grant(NamedTuple):
    subjects: list[Subject]
    tokens: int
    cost: int
    periods: Periods


class MemoryLimiter:
    """Grants claims on accounts in memory: right while one gateway process runs.

    Each account costs about 1 kB; above `max_subjects` those that are full again are dropped.
    """

    def __init__(
        self,
        settings: LimiterSettings | None = None,
        spent_usd: SpentUsd = nothing_spent,
        on_alert: OnAlert = log_alert,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`spent_usd` tells what was spent before; `clock` gives seconds since 1970."""
        self._settings = settings or LimiterSettings()
        self._past = PastSpending(spent_usd, self._settings.store_timeout_s)
        self._on_alert = on_alert
        self._clock = clock
        self._tallies: OrderedDict[Subject, Tally] = OrderedDict()
        self._grants: dict[str, _Grant] = {}
        self._ids = itertools.count()

    async def reserve(self, caller: Caller, claim: Claim) -> Reservation | Refusal:
        """Grants all of a claim or nothing, for the key and its team together."""
        payers = payers_of(caller)
        if not payers:
            return Reservation(caller, claim)
        tallies, now_ms = self._tallies_of(payers)
        if not all(tally.is_known for tally in tallies):
            await self._learn(tallies)
            tallies, now_ms = self._tallies_of(payers)
        self._report(tallies)
        need = need_of(claim)
        standings = _standings(tallies)
        if not all(fits(standing.room, need) for standing in standings):
            return refusal(standings, need, now_ms)
        _, tokens, _, cost, _ = need
        for tally in tallies:
            tally.take(tokens, cost)
        token = str(next(self._ids))
        subjects = [payer.subject for payer in payers]
        self._grants[token] = _Grant(subjects, tokens, cost, periods_at(now_ms))
        return Reservation(caller, claim, headers(_standings(tallies)), token)

    def settle(self, reservation: Reservation, spent: Claim) -> None:
        """Replaces what was reserved by what was used; a second time changes nothing."""
        grant = self._grants.pop(reservation.token, None)
        if grant is None:
            return
        _, tokens, _, cost, _ = need_of(spent)
        now_ms = self._now_ms()
        tallies = [self._tallies[subject] for subject in grant.subjects]
        for tally in tallies:
            tally.advance(now_ms, periods_at(now_ms))
            tally.correct(tokens - grant.tokens, cost - grant.cost, grant.periods)
        self._report(tallies)

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def _tallies_of(self, payers: list[Payer]) -> tuple[list[Tally], int]:
        """Returns the payers' accounts, brought to the moment that is returned with them."""
        now_ms = self._now_ms()
        periods = periods_at(now_ms)
        tallies = [self._tally(payer, now_ms) for payer in payers]
        for tally in tallies:
            tally.advance(now_ms, periods)
        return tallies, now_ms

    def _tally(self, payer: Payer, now_ms: int) -> Tally:
        tally = self._tallies.get(payer.subject)
        if tally is None:
            tally = self._tallies[payer.subject] = Tally(payer, now_ms)
            if len(self._tallies) > self._settings.max_subjects:
                self._drop_one(now_ms)
        else:
            tally.payer = payer
            self._tallies.move_to_end(payer.subject)
        return tally

    def _drop_one(self, now_ms: int) -> None:
        """Drops the oldest account that is full again, else the oldest that runs nothing."""
        oldest = list(itertools.islice(self._tallies.items(), LOOKS_AT))
        idle = [(subject, tally) for subject, tally in oldest if tally.running == 0]
        for subject, tally in idle:
            if tally.is_forgettable(now_ms):
                del self._tallies[subject]
                return
        if idle:
            del self._tallies[idle[0][0]]

    async def _learn(self, tallies: list[Tally]) -> None:
        """Takes in what the store knows of spending before we began to count."""
        for tally in tallies:
            for spending in list(tally.spending.values()):
                if spending.is_known:
                    continue
                subject, since_ms = tally.payer.subject, spending.since_ms
                answer = await self._past.since(subject, since_ms, spending.spent)
                if answer and not spending.is_known:
                    spending.learn(answer.told, answer.own)
                    self._past.forget(subject, since_ms)

    def _report(self, tallies: list[Tally]) -> None:
        for tally in tallies:
            payer = tally.payer
            for period, spending in tally.spending.items():
                if spending.spent >= payer.alert_at[period] and not spending.has_alerted:
                    spending.has_alerted = True
                    budget = getattr(payer.capacity, period)
                    self._on_alert(alert_of(payer.subject, period, spending.spent, budget))


def _standings(tallies: list[Tally]) -> list[Standing]:
    return [Standing(tally.payer, tally.room()) for tally in tallies]
