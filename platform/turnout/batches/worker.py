"""Claims batches and works them off, as long as its gateway runs."""

import asyncio
import logging
import secrets
import time
from contextlib import suppress

from turnout.batches.batch import Batch
from turnout.batches.means import Means
from turnout.batches.run import LeaseLost, Run
from turnout.batches.settled import settled
from turnout.batches.sweep import sweep
from turnout.store.batches import claim, release
from turnout.store.errors import FAILURES

log = logging.getLogger(__name__)
POLL_S = 2.0
SWEEP_S = 600.0
MOST_AT_ONCE = 16
"""Batches one gateway works on at a time; of one team fewer, so that others have their turn."""
MOST_OF_A_TEAM = 4
RELEASE_S = 2.0


class Worker:
    """One task that looks for batches, and one for each that it has claimed."""

    def __init__(self, means: Means) -> None:
        self.means = means
        """What the batches to come are worked off with."""
        self._wake = asyncio.Event()
        self._runs: dict[asyncio.Task[None], Batch] = {}
        self._task: asyncio.Task[None] | None = None
        self._sweeps_at = 0.0

    @property
    def running(self) -> int:
        """Batches that it works on now."""
        return len(self._runs)

    def start(self) -> None:
        """Begins, in the running event loop; further calls do nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._look())

    def wake(self) -> None:
        """Has it look at once."""
        self._wake.set()

    async def stop(self) -> None:
        """Stops all work; another gateway can go on with it at once."""
        held = dict(self._runs)
        tasks = [*held, *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._task = None
        with suppress(*FAILURES):  # then the leases end by themselves
            async with asyncio.timeout(RELEASE_S):
                for batch in held.values():
                    await release(self.means.store, batch)

    async def _look(self) -> None:
        while True:
            try:
                await self._claim_all()
                await self._sweep()
            except FAILURES as error:
                log.warning("batches_away", extra={"error": type(error).__name__})
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._wake.wait()
            self._wake.clear()

    async def _claim_all(self) -> None:
        while len(self._runs) < MOST_AT_ONCE:
            means, now_s, name = self.means, time.time(), secrets.token_hex(16)
            until_s = now_s + means.batches.lease_s
            claimed = claim(means.store, name, now_s, until_s, MOST_OF_A_TEAM)
            batch = await settled(claimed)
            if batch is None:
                return
            task = asyncio.create_task(self._work(batch, means))
            self._runs[task] = batch
            task.add_done_callback(self._end)

    async def _sweep(self) -> None:
        if time.monotonic() >= self._sweeps_at:
            self._sweeps_at = time.monotonic() + SWEEP_S
            await settled(sweep(self.means.store, self.means.folder, time.time()))

    async def _work(self, batch: Batch, means: Means) -> None:
        try:
            await Run(batch, means).run()
        except LeaseLost:
            log.info("batch_lost", extra={"batch": batch.id})
        except Exception as error:  # noqa: BLE001 - an edge: its lease ends, and it is tried again
            extra = {"batch": batch.id, "error": type(error).__name__, "why": _why(error)}
            log.error("batch_broke", extra=extra)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._runs.pop(task, None)
        self._wake.set()


def _why(error: Exception) -> str:
    """Returns the system's word for an error of its own; others' words may repeat a prompt."""
    if isinstance(error, ExceptionGroup):
        return ", ".join(sorted({type(each).__name__ for each in error.exceptions}))
    return (error.strerror or "") if isinstance(error, OSError) else ""
