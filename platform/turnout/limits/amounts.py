"""Limits, claims and what is left, in whole numbers: nothing is lost or gained by rounding. Pure.

A request or a token is 60,000 units, so a bucket for n a minute refills by n units a millisecond.
Dollars are billionths. The Lua scripts beside this file count in the same way.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from turnout.access.caller import Caller, Limits
from turnout.limits.claim import Claim
from turnout.limits.periods import Period

UNIT = 60_000
"""Units of one request or token; also the milliseconds of a minute."""
NANO = 1_000_000_000
"""Billionths of a dollar in a dollar."""


class Amounts(NamedTuple):
    """One number for each thing that is limited; None where there is no limit."""

    requests: int | None
    """Units."""
    tokens: int | None
    """Units."""
    running: int | None
    day: int | None
    """Billionths of a dollar."""
    month: int | None


class Subject(NamedTuple):
    """Whose limit it is."""

    kind: str
    """`key` or `team`."""
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


class Payer(NamedTuple):
    """A key or a team that a request counts for, with what it may use."""

    subject: Subject
    capacity: Amounts
    alert_at: Mapping[Period, int]
    """Spending from which a budget is reported as nearly spent, where there is a budget."""


def payers_of(caller: Caller) -> list[Payer]:
    """Returns those of a caller's key and team that have limits."""
    key = _payer("key", caller.key_id, caller.key_limits)
    team = _payer("team", caller.team, caller.team_limits)
    return [payer for payer in (key, team) if payer]


@lru_cache(maxsize=4096)
def _payer(kind: str, name: str, limits: Limits) -> Payer | None:
    capacity = capacity_of(limits)
    if capacity == _UNLIMITED:
        return None
    budgets: dict[Period, int | None] = {"day": capacity.day, "month": capacity.month}
    alert_at = {
        period: math.ceil(budget * limits.alert_share)
        for period, budget in budgets.items()
        if budget is not None
    }
    return Payer(Subject(kind, name), capacity, alert_at)


def capacity_of(limits: Limits) -> Amounts:
    """Returns limits as whole numbers: the most a bucket holds, places, budgets."""
    return Amounts(
        _times(limits.requests_per_minute, UNIT),
        _times(limits.tokens_per_minute, UNIT),
        limits.concurrent_requests,
        _times(limits.usd_per_day, NANO),
        _times(limits.usd_per_month, NANO),
    )


def need_of(claim: Claim) -> tuple[int, int, int, int, int]:
    """Returns what a claim takes of each limit."""
    cost = nanos(claim.cost_usd)
    return UNIT, claim.tokens * UNIT, 1, cost, cost


def nanos(usd: float) -> int:
    """Returns dollars in billionths."""
    return round(usd * NANO)


def _times(limit: float | None, factor: int) -> int | None:
    return None if limit is None else round(limit * factor)


_UNLIMITED = Amounts(None, None, None, None, None)
