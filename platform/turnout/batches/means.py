"""What the batches of one gateway process are worked off with."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.access.caller import Caller, Denied
from turnout.batches.asking import Question
from turnout.batches.folder import Folder
from turnout.batches.line import Rules
from turnout.batches.verdict import Answer
from turnout.config.batch_settings import BatchSettings
from turnout.config.settings import GatewaySettings
from turnout.gateway.catalog import Catalog

Ask = Callable[[Question], Awaitable[Answer]]
Owner = Callable[[str], Awaitable[Caller | Denied]]
"""Tells whom a key stands for now, by its public id."""


@dataclass
class Tally:
    """What became of lines in this process."""

    completed: int = 0
    failed: int = 0
    refused: int = 0
    """Times that a line was put off, by a limit or for want of a replica."""


@dataclass(frozen=True)
class Means:
    """The store, the files, the gateway, and who pays; `settings` as they are for new work."""

    store: AsyncEngine
    folder: Folder
    ask: Ask
    owner: Owner
    settings: GatewaySettings
    batches: BatchSettings
    slots: asyncio.Semaphore
    """Lines running at a time, over all batches."""
    tally: Tally = field(default_factory=Tally)

    @property
    def max_line_bytes(self) -> int:
        """The longest line of an input."""
        return self.rules("", None).max_line_bytes

    def rules(self, endpoint: str, caller: Caller | None) -> Rules:
        """Returns what a caller's lines must keep to."""
        catalog = Catalog(self.settings)

        def resolve(model: str) -> str:
            return catalog.resolve(model, caller) if caller else model

        return Rules(endpoint, self.settings.limits.max_body_bytes, resolve)
