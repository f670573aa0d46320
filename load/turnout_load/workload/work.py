"""The units of a workload: turns, conversations, and the plan that says when each one starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a conversation."""

    messages: tuple[Message, ...]
    """What joins the history before it is sent; a single-turn request has all of it here."""
    max_tokens: int | None = None
    reply: str | None = None
    """The recorded answer: history for later turns in place of the server's own."""
    think_time_s: float = 0.0
    """Wait after the answer before it; 0 for the first."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns that follow one another; a single request is a conversation of one."""

    turns: tuple[Turn, ...]
    team: str = ""
    priority: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the request's body, such as `temperature`."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A conversation with its number in the plan and its start."""

    index: int
    offset_ns: int | None
    """From the run's start; None in a closed loop, where a free user starts it."""
    conversation: Conversation


class Dataset(Protocol):
    """Conversations by number: the same number and seed give the same bytes in every process."""

    def conversation(self, index: int) -> Conversation:
        """Returns the conversation with this number; numbers past the end start over."""
        ...


class Arrivals(Protocol):
    """When conversations start."""

    def offsets_ns(self, seed: int) -> Iterator[int]:
        """Yields increasing offsets from the run's start, in nanoseconds; may never end."""
        ...


class Plan(Protocol):
    """Everything that a run will send, in order of its start."""

    def planned(self, shard: int, shards: int) -> Iterator[Planned]:
        """Yields this shard's share: every conversation whose index is `shard` mod `shards`."""
        ...
