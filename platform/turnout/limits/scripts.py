"""The Lua scripts that keep accounts in Redis or Valkey: their arguments and answers. Pure.

All keys carry one hash tag, so they lie on one node of a cluster and one script can change several.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files
from typing import Literal, NamedTuple

from turnout.limits.amounts import Amounts, Payer, Subject
from turnout.limits.periods import Periods, month_start
from turnout.limits.verdict import Standing

PREFIX = "turnout:{limits}:"
MARK_MS = 600_000
"""How long it is remembered that a claim was settled: longer than its settlement is tried."""
Mode = Literal["settle", "release", "charge"]
Argument = str | int
_NUMBERS = 10


def source(name: str) -> str:
    """Returns the text of a script."""
    folder = files("turnout.limits") / "lua"
    return "\n".join((folder / f"{part}.lua").read_text() for part in ("common", name))


def account_key(subject: Subject) -> str:
    """Returns where a subject's account is."""
    return f"{PREFIX}{subject}"


def leases_key(subject: Subject) -> str:
    """Returns where the places of a subject's running requests are."""
    return f"{PREFIX}{subject}:running"


def claim_keys(token: str, payers: Sequence[Payer]) -> list[str]:
    """Returns the keys that a claim touches."""
    keys = [f"{PREFIX}claim:{token}"]
    for payer in payers:
        keys += [account_key(payer.subject), leases_key(payer.subject)]
    return keys


class Account(NamedTuple):
    """A payer's account as a script tells it: the numbers of `told` in common.lua."""

    born: int
    requests: int
    tokens: int
    running: int
    day_spent: int
    month_spent: int
    day_known: int
    month_known: int
    alert_day: int
    alert_month: int

    def standing(self, payer: Payer) -> Standing:
        """Returns how much of its limits the payer has left."""
        limits = payer.capacity
        return Standing(
            payer,
            Amounts(
                None if limits.requests is None else self.requests,
                None if limits.tokens is None else self.tokens,
                None if limits.running is None else limits.running - self.running,
                None if limits.day is None else limits.day - self.day_spent,
                None if limits.month is None else limits.month - self.month_spent,
            ),
        )


class Status(IntEnum):
    """What became of a claim."""

    REFUSED = 0
    GRANTED = 1
    UNKNOWN = 2


@dataclass(frozen=True)
class Answer:
    """What the script says to a claim; accounts are as they were before it."""

    status: Status
    now_ms: int
    periods: Periods
    accounts: list[Account]


def answer_of(reply: Sequence[int]) -> Answer:
    """Reads the reserve script's answer."""
    status, now_ms, day, month = reply[:4]
    return Answer(Status(status), now_ms, Periods(day, month), accounts_of(reply[4:]))


def accounts_of(numbers: Sequence[int]) -> list[Account]:
    """Reads accounts."""
    starts = range(0, len(numbers), _NUMBERS)
    return [Account(*numbers[start : start + _NUMBERS]) for start in starts]


@dataclass(frozen=True)
class Settlement:
    """The end of a claim, on its way to the accounts."""

    token: str
    mode: Mode
    payers: Sequence[Payer]
    periods: Periods
    """When it was reserved."""
    more_tokens: int = 0
    """Units used beyond what was reserved."""
    more_cost: int = 0
    cost: int = 0
    """Used in all."""
    born: Sequence[int] = ()

    def arguments(self, now_ms: int) -> list[Argument]:
        """Returns the settle script's arguments."""
        values: list[Argument] = [self.token, self.mode, MARK_MS]
        values += [self.more_tokens, self.more_cost, self.cost, *self.periods]
        values += months_around(now_ms)
        for payer, born in zip(self.payers, self.born or [0] * len(self.payers), strict=True):
            values += [born, *limits_of(payer)]
        return values


def months_around(now_ms: int) -> list[int]:
    """Returns three month starts, of which the server's own clock picks one."""
    return [month_start(now_ms, later) for later in (-1, 0, 1)]


def limits_of(payer: Payer) -> list[int]:
    """Returns a payer's limits and marks for alerts; -1 is no limit."""
    marks = payer.alert_at.get("day", -1), payer.alert_at.get("month", -1)
    return [*(-1 if limit is None else limit for limit in payer.capacity), *marks]
