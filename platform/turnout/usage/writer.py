"""Moves records from journals into the database: in batches, each once, for as long as it takes."""

import asyncio
import logging
import os
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from turnout.errors import TurnoutError
from turnout.usage.folder import Folder
from turnout.usage.journal import Journal, Tally, read_segment
from turnout.usage.record import UsageRecord

log = logging.getLogger(__name__)
Insert = Callable[[Sequence[UsageRecord]], Awaitable[int]]
"""Puts records into the database in one transaction and returns how many were new to it.

Raises `RecordsRefused` where the records themselves are at fault, anything else where the database
is.
"""
REFUSED = "refused.jsonl"


class RecordsRefused(TurnoutError):
    """The database does not take one or more of these records, now or later."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the database refuses a usage record: {self.problem}"


@dataclass(frozen=True)
class Pace:
    """How often the writer looks for records, and how it waits for a database that is down."""

    interval_s: float = 1.0
    insert_timeout_s: float = 30.0
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    leftovers_every_s: float = 30.0


class UsageWriter:
    """Empties its own journal and those that dead processes left beside it."""

    def __init__(
        self, root: Path, journal: Journal, insert: Insert, tally: Tally, pace: Pace
    ) -> None:
        self._root = root
        self._journal = journal
        self._insert = insert
        self._tally = tally
        self._pace = pace
        self._leftovers_at_s = 0.0

    async def run(self) -> None:
        """Writes for ever; a database that is down is tried again with growing waits."""
        loop, failed = asyncio.get_running_loop(), 0
        while True:
            try:
                await self.drain()
                if loop.time() >= self._leftovers_at_s:
                    await self.replay_leftovers()
                    self._leftovers_at_s = loop.time() + self._pace.leftovers_every_s
                failed = 0
                await asyncio.sleep(self._pace.interval_s)
            except Exception as error:  # noqa: BLE001 - the task's edge: the records stay on disk
                self._tally.failures += 1
                failed += 1
                log.warning("usage_not_stored", extra={"error": type(error).__name__})
                await asyncio.sleep(self._wait_s(failed))

    def _wait_s(self, failed: int) -> float:
        longest = min(
            self._pace.first_wait_s * 2.0 ** min(failed - 1, 20), self._pace.longest_wait_s
        )
        return longest * random.uniform(0.5, 1.0)

    async def drain(self) -> None:
        """Writes what was noted before now; raises what the database raises.

        What comes meanwhile waits for the next time: a busy gateway writes a thousand records at
        once rather than ten a hundred times.
        """
        segment = self._journal.oldest()
        while segment is not None:
            await self._store(segment)
            self._journal.done(segment)
            segment = self._journal.sealed

    async def replay_leftovers(self) -> None:
        """Writes what dead processes left; their folders go with their last segment."""
        for path in sorted(self._root.iterdir()):
            folder = Folder.try_claim(path) if path.is_dir() else None
            if folder is None:
                continue
            try:
                for segment in folder.segments():
                    await self._store(segment)
                    segment.unlink()
            finally:
                folder.release()

    async def _store(self, segment: Path) -> None:
        records = await asyncio.to_thread(read_segment, segment, self._tally)
        if records:
            await self._store_records(records)

    async def _store_records(self, records: Sequence[UsageRecord]) -> None:
        try:
            async with asyncio.timeout(self._pace.insert_timeout_s):
                new = await self._insert(records)
        except RecordsRefused as error:
            await self._store_apart(records, error)
            return
        self._tally.stored += new
        self._tally.known += len(records) - new

    async def _store_apart(self, records: Sequence[UsageRecord], error: RecordsRefused) -> None:
        """Finds the record at fault by halves and sets it aside, so that it stops no others."""
        if len(records) > 1:
            middle = len(records) // 2
            await self._store_records(records[:middle])
            await self._store_records(records[middle:])
            return
        descriptor = os.open(self._root / REFUSED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(msgspec.json.encode(records[0]) + b"\n")
        self._tally.refused += 1
        log.error("usage_refused", extra={"record": records[0].id, "why": error.problem})
