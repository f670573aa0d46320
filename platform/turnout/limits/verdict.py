"""Whether a claim fits, and what the caller is told. Pure.

A claim above a whole minute's capacity, or above a whole budget, can never fit. It is refused with
a message that says so, as OpenAI refuses it ("Request too large"); no wait would help.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from turnout.limits.amounts import NANO, UNIT, Amounts, Payer
from turnout.limits.claim import Reason, Refusal
from turnout.limits.headers import Bucket, duration, rate_limit_headers, wait_ms
from turnout.limits.periods import Period, end_of

CONCURRENCY_RETRY_MS = 1000
"""Nobody knows when a running request ends; a second is soon enough to ask again."""
NEVER_RETRY_MS = 60_000
"""For clients that do not read `x-should-retry`."""
BUDGETS: Mapping[str, Period] = {"day": "day", "month": "month"}
REASONS: Mapping[str, Reason] = {
    "requests": "requests",
    "tokens": "tokens",
    "running": "concurrency",
    "day": "budget",
    "month": "budget",
}
Need = tuple[int, int, int, int, int]


class Standing(NamedTuple):
    """How much of its limits a payer has left."""

    payer: Payer
    room: Amounts


class Shortage(NamedTuple):
    """A limit that a claim does not fit into."""

    payer: Payer
    limit: str
    """Field of `Amounts`."""
    capacity: int
    left: int
    needed: int
    wait_ms: float
    """Until it would fit if nothing else were taken; infinite where it never does."""


def fits(room: Amounts, need: Need) -> bool:
    """Tells whether every limit has enough left."""
    return all(left is None or needed <= left for left, needed in zip(room, need, strict=True))


def after(standings: Sequence[Standing], need: Need) -> list[Standing]:
    """Returns how payers stand once a claim is granted."""
    return [
        Standing(
            payer,
            Amounts(
                *(
                    None if left is None else left - needed
                    for left, needed in zip(room, need, strict=True)
                )
            ),
        )
        for payer, room in standings
    ]


def shortages(standings: Sequence[Standing], need: Need, now_ms: int) -> list[Shortage]:
    """Returns the limits without enough left."""
    found = []
    for payer, room in standings:
        rows = zip(Amounts._fields, payer.capacity, room, need, strict=True)
        for limit, capacity, left, needed in rows:
            if capacity is not None and left is not None and needed > left:
                wait = _wait_ms(limit, capacity, left, needed, now_ms)
                found.append(Shortage(payer, limit, capacity, left, needed, wait))
    return found


def _wait_ms(limit: str, capacity: int, left: int, needed: int, now_ms: int) -> float:
    if needed > capacity:
        return math.inf
    if limit == "running":
        return CONCURRENCY_RETRY_MS
    if limit in BUDGETS:
        return end_of(BUDGETS[limit], now_ms) - now_ms
    return wait_ms(needed - left, capacity)


def refusal(standings: Sequence[Standing], need: Need, now_ms: int) -> Refusal:
    """Returns the answer to a claim that does not fit: the limit with the longest wait speaks."""
    worst = max(shortages(standings, need, now_ms), key=lambda shortage: shortage.wait_ms)
    is_hopeless = math.isinf(worst.wait_ms)
    wait = NEVER_RETRY_MS if is_hopeless else int(worst.wait_ms)
    reason = REASONS[worst.limit]
    if is_hopeless or reason == "budget":
        retry = {"x-should-retry": "false"}  # OpenAI's clients follow it
    else:
        retry = {"retry-after-ms": str(wait)}
    return Refusal(reason, message(worst), wait / 1000, {**headers(standings), **retry})


def message(shortage: Shortage) -> str:
    """Returns what was too little, of whose, and what to do."""
    kind, name = shortage.payer.subject
    whose = "this key" if kind == "key" else f"team '{name}'"
    allowed, left, needed = _words(shortage)
    if math.isinf(shortage.wait_ms):
        return (
            f"request too large: {whose} may use {allowed}, and this request needs about {needed}: "
            "it can never fit; shorten the prompt or lower max_tokens"
        )
    again = duration(int(shortage.wait_ms))
    if shortage.limit == "running":
        return f"{whose} may use {allowed}, and all of them are in use; try again in {again}"
    return (
        f"{whose} may use {allowed}; {left} left, and this request needs about {needed}; "
        f"try again in {again}"
    )


def _words(shortage: Shortage) -> tuple[str, str, str]:
    """Returns the limit, what is left and what is needed."""
    limit, capacity, left, needed = shortage[1:5]
    if limit == "running":
        return f"{capacity} requests at the same time", str(left), str(needed)
    if limit in BUDGETS:
        return f"{_usd(capacity)} per {limit} (UTC)", _usd(max(0, left)), _usd(needed)
    left_over = max(0, left // UNIT)
    return f"{capacity // UNIT} {limit} per minute", str(left_over), str(needed // UNIT)


def _usd(nanos: int) -> str:
    return f"${nanos / NANO:.6g}"


def headers(standings: Sequence[Standing]) -> dict[str, str]:
    """Returns the rate-limit headers for an answer, of the tighter of key and team."""
    requests = ((room.requests, payer.capacity.requests) for payer, room in standings)
    tokens = ((room.tokens, payer.capacity.tokens) for payer, room in standings)
    return {
        **rate_limit_headers("requests", _buckets(requests)),
        **rate_limit_headers("tokens", _buckets(tokens)),
    }


def _buckets(pairs: Iterable[tuple[int | None, int | None]]) -> list[Bucket]:
    return [
        Bucket(level, capacity)
        for level, capacity in pairs
        if level is not None and capacity is not None
    ]
