"""The ledger of one gateway process: a journal on disk and the task that empties it."""

import asyncio
import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turnout.usage.folder import Folder
from turnout.usage.journal import Journal, JournalBounds, Tally
from turnout.usage.record import UsageRecord
from turnout.usage.writer import Insert, Pace, UsageWriter


class DiskLedger(Collector):
    """Keeps records on disk until the database has them; also a collector of its own metrics.

    `root` is shared by the processes of a machine; `process` names this one's folder below it.
    """

    def __init__(
        self,
        root: Path,
        process: str,
        insert: Insert,
        bounds: JournalBounds | None = None,
        pace: Pace | None = None,
    ) -> None:
        """Makes and locks the folder; raises `FolderInUse` or OSError."""
        self.tally = Tally()
        self._journal = Journal(Folder.claim(root / process), self.tally, bounds)
        self._writer = UsageWriter(root, self._journal, insert, self.tally, pace or Pace())
        self._task: asyncio.Task[None] | None = None

    def note(self, record: UsageRecord) -> None:
        """Keeps a record; never waits and never raises."""
        self._journal.note(record)

    @property
    def backlog_bytes(self) -> int:
        """Bytes on disk that the database does not have yet."""
        return self._journal.backlog_bytes

    def start(self) -> Self:
        """Starts writing to the database, in the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._writer.run())
        return self

    async def stop(self, within_s: float = 5.0) -> None:
        """Writes what it can in the time given and lets go of the folder.

        The rest stays on disk for the next process here.
        """
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(Exception):  # down: the records stay on disk
            async with asyncio.timeout(within_s):
                while self.backlog_bytes:
                    await self._writer.drain()
        self._journal.close()

    def collect(self) -> Iterable[Metric]:
        """Returns what became of records, and what waits."""
        tally = self.tally
        outcomes = {
            "noted": tally.noted,
            "logged": tally.logged,
            "stored": tally.stored,
            "known": tally.known,
            "refused": tally.refused,
            "torn": tally.torn,
        }
        records = CounterMetricFamily(
            "turnout_usage_records", "Usage records by what became of them.", labels=["outcome"]
        )
        for outcome, count in outcomes.items():
            records.add_metric([outcome], count)
        failures = CounterMetricFamily(
            "turnout_usage_store_failures", "Failed writes of usage to the database."
        )
        failures.add_metric([], tally.failures)
        backlog = GaugeMetricFamily(
            "turnout_usage_backlog_bytes", "Usage on disk that the database does not have yet."
        )
        backlog.add_metric([], self.backlog_bytes)
        return [records, failures, backlog]
