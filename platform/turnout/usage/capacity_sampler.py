"""Adds up what the pools have ready, and so what they cost, in the database.

Runs in one process of a deployment: two would count every replica twice.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from turnout.config.settings import ModelSettings
from turnout.gateway.replicas import ReplicaTable
from turnout.usage.cost import CapacityInHour, ready_since, summed

log = logging.getLogger(__name__)
AddCapacity = Callable[[Sequence[CapacityInHour]], Awaitable[None]]
LONGEST_SPAN_S = 60.0
"""A process that stood still for longer does not know what was ready meanwhile."""


class CapacitySampler:
    """Looks at the replica table every few seconds; what it saw holds until the next look.

    A database that is down costs nothing: sums wait in memory, one for each hour and pool.
    """

    def __init__(self, table: ReplicaTable, add: AddCapacity) -> None:
        self._table = table
        self._add = add
        self._models: Mapping[str, ModelSettings] = {}
        self._waiting: list[CapacityInHour] = []

    def configure(self, models: Mapping[str, ModelSettings]) -> None:
        """Takes the models, with their prices, from now on."""
        self._models = models

    async def run(self, interval_s: float = 5.0) -> None:
        """Samples for ever."""
        before_s = time.monotonic()
        while True:
            await asyncio.sleep(interval_s)
            now_s = time.monotonic()
            self.sample(time.time(), now_s - before_s)
            before_s = now_s
            try:
                await self.flush()
            except Exception as error:  # noqa: BLE001 - the task's edge: the sums wait in memory
                log.warning("capacity_not_stored", extra={"error": type(error).__name__})

    def sample(self, now_s: float, elapsed_s: float) -> None:
        """Counts what is ready now for the time since the last look."""
        replicas = [each for model in self._models for each in self._table.replicas(model)]
        span_s = (now_s - min(elapsed_s, LONGEST_SPAN_S), now_s)
        seen = ready_since(replicas, self._models, span_s)
        self._waiting = summed([*self._waiting, *seen])

    async def flush(self) -> None:
        """Writes what waits; raises what the database raises, and keeps it then."""
        rows, self._waiting = self._waiting, []
        try:
            await self._add(rows)
        except BaseException:
            self._waiting = summed([*rows, *self._waiting])
            raise
