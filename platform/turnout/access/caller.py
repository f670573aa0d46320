"""Who a request comes from, as the gateway sees it; pure data."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

Scope = Literal["inference", "batch", "usage"]


@dataclass(frozen=True)
class Limits:
    """What a key or a team may use at most; None is no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent_requests: int | None = None
    """Requests running at the same time, streams and whole answers alike."""
    usd_per_day: float | None = None
    """Calendar days and months are UTC's."""
    usd_per_month: float | None = None
    alert_share: float = 0.8
    """Share of a budget from which it is reported as nearly spent."""


@dataclass(frozen=True)
class Caller:
    """The key that a request came with, and its team."""

    key_id: str
    team: str
    scopes: frozenset[str] = frozenset({"inference"})
    models: frozenset[str] | None = None
    """Models that may be asked for or routed to, by name; None is every model."""
    key_limits: Limits = Limits()
    team_limits: Limits = Limits()

    @cached_property
    def is_metered(self) -> bool:
        """Whether tokens or dollars are counted before a request runs."""
        bounds = (self.key_limits, self.team_limits)
        return any(
            bound is not None
            for limits in bounds
            for bound in (limits.tokens_per_minute, limits.usd_per_day, limits.usd_per_month)
        )

    def may_use(self, model: str) -> bool:
        """Tells whether a model's answers may go to this caller."""
        return self.models is None or model in self.models


ANYONE = Caller(key_id="none", team="none", scopes=frozenset({"inference", "batch", "usage"}))
"""Every caller where keys are off."""


@dataclass(frozen=True)
class Denied:
    """Why a request's key was not taken; never repeats the key."""

    because: str
    is_temporary: bool = False
    """Whether the same key may be taken a moment later: nobody could tell now."""


class Access(Protocol):
    """Tells who calls."""

    async def identify(self, headers: Mapping[bytes, bytes]) -> Caller | Denied:
        """Returns the caller of a request by its headers (lower-case names)."""
        ...


class OpenAccess:
    """Takes every request, with or without a key."""

    async def identify(self, headers: Mapping[bytes, bytes]) -> Caller | Denied:
        """Returns `ANYONE`."""
        return ANYONE

    async def caller_of(self, _key_id: str) -> Caller | Denied:
        """Returns `ANYONE`."""
        return ANYONE
