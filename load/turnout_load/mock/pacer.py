"""Calls at absolute times, closer than the event loop's timers, which know milliseconds."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from heapq import heappop, heappush
from time import perf_counter_ns

MS = 1_000_000
TIMER_LATE_NS = 200_000
"""How late a timer of uvloop fires that is a whole number of milliseconds away."""


class Pacer:
    """Calls what is due; waits busily for the last millisecond, while other events are served."""

    def __init__(self, loop: asyncio.AbstractEventLoop, few: int = 64) -> None:
        """With more than `few` calls pending the loop's own timers have to do."""
        self._loop = loop
        self._few = few
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._wake_up: asyncio.Handle | None = None

    def at(self, due_ns: int, call: Callable[[], None]) -> None:
        """Calls `call` when `perf_counter_ns` reaches `due_ns`."""
        entry = (due_ns, next(self._order), call)
        heappush(self._due, entry)
        if self._due[0] is entry:
            self._arm()

    def _arm(self) -> None:
        if self._wake_up is not None:
            self._wake_up.cancel()
        left_ns = self._due[0][0] - perf_counter_ns()
        # uvloop rounds a delay to milliseconds: the rest is waited for busily
        whole_ms = max(left_ns - TIMER_LATE_NS, 0) // MS
        if len(self._due) > self._few:
            whole_ms = max(whole_ms, 1)
        if whole_ms:
            self._wake_up = self._loop.call_later(whole_ms / 1e3, self._call_due)
        else:
            self._wake_up = self._loop.call_soon(self._call_due)

    def _call_due(self) -> None:
        self._wake_up = None
        now_ns = perf_counter_ns()
        while self._due and self._due[0][0] <= now_ns:
            heappop(self._due)[2]()
        if self._due:
            self._arm()
