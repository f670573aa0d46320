"""Asks the store about keys, so that no flood of requests becomes a flood of queries.

One query runs at a time, for all ids that wait; an id that several requests wait for is asked once.
While queries find nothing (somebody tries keys), there is a pause between them. After a query that
failed, nothing is asked for a moment: a store that is down costs one query per pause.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from turnout.store.errors import FAILURES
from turnout.store.keys import Key, Team

log = logging.getLogger(__name__)
Found = Mapping[str, tuple[Key, Team]]
Find = Callable[[Sequence[str]], Awaitable[Found]]
Learn = Callable[[Sequence[str], Found, float], None]

BATCH = 256
MOST_WAITING = 4096
NOTHING_FOUND_PAUSE_S = 0.05
FAILED_PAUSE_S = 1.0
MOST_HANGING = 4
"""Queries given up but still running; beyond these the store is not asked again."""


class Unreachable(Exception):
    """The store did not answer in time, or cannot."""


class Lookup:
    """Finds keys by id: `find` asks the store, `learn` gets every answer and when it was asked."""

    def __init__(
        self, find: Find, learn: Learn, timeout_s: float, steady: Callable[[], float]
    ) -> None:
        self._find, self._learn, self._steady = find, learn, steady
        self.timeout_s = timeout_s
        self.is_failing = False
        """Whether the last query failed."""
        self._asks_again_at = float("-inf")
        self._futures: dict[str, asyncio.Future[bool]] = {}
        self._waiting: list[str] = []
        self._worker: asyncio.Task[None] | None = None
        self._hanging: set[asyncio.Future[Found]] = set()

    def ask(self, key_id: str) -> asyncio.Future[bool]:
        """Has an id asked for; the future tells whether the store answered."""
        future = self._futures.get(key_id)
        if future is not None:
            return future
        future = asyncio.get_running_loop().create_future()
        if self._steady() < self._asks_again_at or len(self._waiting) >= MOST_WAITING:
            future.set_result(False)
            return future
        self._futures[key_id] = future
        self._waiting.append(key_id)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return future

    async def wait(self, key_id: str) -> None:
        """Returns once an id was learned; raises `Unreachable`, at the latest after the timeout."""
        future = self.ask(key_id)
        await asyncio.wait((future,), timeout=self.timeout_s)
        if not future.done() or not future.result():
            raise Unreachable

    async def close(self) -> None:
        """Ends what runs."""
        tasks: list[asyncio.Future[Any]] = [*self._hanging]
        if self._worker is not None:
            tasks.append(self._worker)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self) -> None:
        while self._waiting:
            ids, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            asked_at, found = self._steady(), None
            try:
                found = await self._query(ids)
                if found is not None:
                    self._learn(ids, found, asked_at)
                self._note(answers=found is not None)
            finally:
                self._tell(ids, answered=found is not None)
            if found is None:
                self._tell(self._waiting, answered=False)
                self._waiting = []
            elif not found:
                await asyncio.sleep(NOTHING_FOUND_PAUSE_S)

    async def _query(self, ids: Sequence[str]) -> Found | None:
        """Returns what the store has, or None; never waits longer than the timeout.

        A query given up is not waited for: to cancel one on a hanging server takes time, too.
        """
        if len(self._hanging) >= MOST_HANGING:
            return None
        query = asyncio.ensure_future(self._find(ids))
        self._hanging.add(query)
        query.add_done_callback(self._end)
        await asyncio.wait((query,), timeout=self.timeout_s)
        if not query.done():
            query.cancel()
            return None
        with contextlib.suppress(*FAILURES):
            return query.result()
        return None

    def _end(self, query: "asyncio.Future[Found]") -> None:
        self._hanging.discard(query)
        if not query.cancelled():
            query.exception()  # seen: one that was given up has nobody else to read it

    def _note(self, *, answers: bool) -> None:
        if self.is_failing == answers:
            log.warning("key_store", extra={"reachable": answers})
        self.is_failing = not answers
        if not answers:
            self._asks_again_at = self._steady() + FAILED_PAUSE_S

    def _tell(self, ids: Sequence[str], *, answered: bool) -> None:
        for key_id in ids:
            self._futures.pop(key_id).set_result(answered)
