"""What is kept of one request: never its text, never its key."""

from typing import Protocol

import msgspec


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One client request, whatever it took to answer it: retries, hedges and resumes are one."""

    id: str
    """Unique; writing a record twice keeps one."""
    at_s: float
    """When the request came in, seconds since 1970."""
    team: str
    key_id: str
    endpoint: str
    model: str
    market: str
    """The market of the replica that ended the answer, `upstream`, or `none`."""
    status: int
    """As the client saw it; 499 when it left."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    queue_s: float = 0.0
    """From the request's arrival to its sending to a replica."""
    ttft_s: float | None = None
    itl_s: float | None = None
    """Mean time between tokens after the first."""
    e2e_s: float = 0.0
    list_cost_usd: float = 0.0
    """Tokens times the model's list price."""
    attempts: int = 1
    """Replicas the request was sent to."""


class Ledger(Protocol):
    """Takes records; never blocks and never fails a request."""

    def note(self, record: UsageRecord) -> None:
        """Keeps a record."""
        ...


class NoLedger:
    """Keeps nothing."""

    def note(self, record: UsageRecord) -> None:
        """Drops the record."""
