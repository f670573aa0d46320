"""What a request reserves before it runs and settles afterwards; pure data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from turnout.access.caller import Caller

Reason = Literal["requests", "tokens", "concurrency", "budget"]


@dataclass(frozen=True)
class Claim:
    """Tokens (prompt and answer together) and dollars of one request, predicted or real."""

    tokens: int
    cost_usd: float


@dataclass(frozen=True)
class Reservation:
    """A claim that was granted; goes back to `settle`, once."""

    caller: Caller
    claim: Claim
    headers: Mapping[str, str] = field(default_factory=dict)
    """`x-ratelimit-*` headers for the answer."""
    token: str = ""
    """What the limiter knows it by."""


@dataclass(frozen=True)
class Refusal:
    """A claim that was not granted."""

    reason: Reason
    message: str
    """Names the limit, its value and whose it is; never a key."""
    retry_after_s: float
    headers: Mapping[str, str] = field(default_factory=dict)


class Limiter(Protocol):
    """Grants claims and takes back what was not used."""

    async def reserve(self, caller: Caller, claim: Claim) -> Reservation | Refusal:
        """Grants all of a claim or nothing, for the key and its team together."""
        ...

    def settle(self, reservation: Reservation, spent: Claim) -> None:
        """Replaces what was reserved by what was used, and frees the place of a running request.

        Never waits: a limiter that keeps its account elsewhere writes it behind.
        """
        ...


class NoLimits:
    """Grants everything."""

    async def reserve(self, caller: Caller, claim: Claim) -> Reservation | Refusal:
        """Returns a reservation."""
        return Reservation(caller, claim)

    def settle(self, reservation: Reservation, spent: Claim) -> None:
        """Keeps no account."""
