"""What the gateway knows of replicas. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class EngineLoad:
    """What an engine told of itself about a second ago."""

    waiting: int = 0
    """Requests in its queue."""
    running: int = 0
    kv_usage: float = 0.0
    """Share of its KV cache in use."""
    ttft_s: float | None = None
    """Mean of the answers that began lately; None where none did."""
    itl_s: float | None = None
    """Mean time between tokens lately."""


@dataclass(frozen=True)
class Replica:
    """One engine; `address` is None where its own port cannot be reached from here."""

    id: str
    model: str
    market: str
    address: str | None
    context_window: int
    is_draining: bool = False
    """Whether it is about to go: what runs may end, nothing new is sent."""
    load: EngineLoad | None = None
    """None until its engine has told."""
    key: str | None = field(default=None, repr=False)
    """What opens its port, sent as a bearer token; None where it is open."""
    max_running: int | None = None
    """Requests that it runs at once; None where it has not told."""


class ReplicaTable(Protocol):
    """Tells the ready replicas of a model's pools; never blocks and never asks a replica."""

    def replicas(self, model: str) -> Sequence[Replica]:
        """Returns the ready replicas of a model, of every pool; empty when none is ready.

        The same sequence as before means that nothing has changed.
        """
        ...
