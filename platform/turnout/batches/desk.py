"""The files and batches of one gateway process: their pages, and the worker behind them."""

import asyncio
import functools
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.access.caller import Caller
from turnout.batches.asking import App, ask
from turnout.batches.batch_pages import BatchPages
from turnout.batches.errors import BatchesNotKept
from turnout.batches.file_pages import FilePages
from turnout.batches.folder import Folder
from turnout.batches.means import Means, Owner, Tally
from turnout.batches.routes import answer
from turnout.batches.worker import Worker
from turnout.config.settings import GatewaySettings
from turnout.gateway.exchange import Exchange


class Desk(Collector):
    """Answers `/v1/files` and `/v1/batches` once it is configured; a collector of its metrics."""

    def __init__(self, store: AsyncEngine, owner: Owner, app: App, state: Path) -> None:
        """`state` is where the files lie unless the settings name a folder; `app` is the gateway.

        `owner` tells who pays for a batch.
        """
        self._store, self._owner, self._state = store, owner, state
        self._ask = functools.partial(ask, app)
        self._tally = Tally()
        self._means: Means | None = None
        self._worker: Worker | None = None

    async def configure(self, settings: GatewaySettings) -> None:
        """Takes new settings for the work to come, and begins to work; null ends all work."""
        batches = settings.batches
        if batches is None:
            await self.stop()
            return
        self._means = Means(
            store=self._store,
            folder=Folder(Path(batches.folder) if batches.folder else self._state / "batches"),
            ask=self._ask,
            owner=self._owner,
            settings=settings,
            batches=batches,
            slots=asyncio.Semaphore(batches.max_running_lines),
            tally=self._tally,
        )
        if self._worker is None:
            self._worker = Worker(self._means)
            self._worker.start()
        self._worker.means = self._means

    async def stop(self) -> None:
        """Ends all work; another gateway can go on with it at once."""
        worker, self._worker, self._means = self._worker, None, None
        if worker is not None:
            await worker.stop()

    async def answer(self, exchange: Exchange, caller: Caller) -> None:
        """Answers a request for a file or a batch; raises a `RequestError`."""
        means, worker = self._means, self._worker
        if means is None or worker is None:
            raise BatchesNotKept
        files, batches = FilePages(means), BatchPages(means, worker.wake)
        timeout_s = means.settings.limits.request_timeout_s
        await answer(exchange, caller, files, batches, timeout_s)

    def collect(self) -> Iterable[Metric]:
        """Returns what became of lines, and how many batches are worked on."""
        lines = CounterMetricFamily(
            "turnout_batch_lines", "Lines of batches by what became of them.", labels=["outcome"]
        )
        for outcome, count in vars(self._tally).items():
            lines.add_metric([outcome], count)
        running = self._worker.running if self._worker else 0
        return [lines, GaugeMetricFamily("turnout_batches_running", "Batches.", value=running)]
