"""What was spent before a limiter began to count: the store is asked, once per period."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from turnout.limits.amounts import Subject, nanos

log = logging.getLogger(__name__)
SpentUsd = Callable[[Subject, float], Awaitable[float]]
"""Returns the dollars a key or a team has spent since a time (seconds since 1970)."""
MOST_QUESTIONS = 10_000


async def nothing_spent(_subject: Subject, _since_s: float) -> float:
    """Knows of no spending: for a gateway without a store."""
    return 0.0


@dataclass
class _Question:
    task: asyncio.Task[int | None]
    own: int
    until_s: float
    """Requests wait for the answer until then (the loop's clock)."""
    again_at_s: float
    """An unanswered question is asked again from then on."""


@dataclass(frozen=True)
class Answer:
    """What the store told, and what the limiter itself had counted when it was asked."""

    told: int
    own: int


class PastSpending:
    """Asks the store, waits for it a moment at most, and goes on without it where it is down."""

    def __init__(self, spent_usd: SpentUsd, timeout_s: float = 0.2, retry_s: float = 30.0) -> None:
        self._spent_usd = spent_usd
        self._timeout_s, self._retry_s = timeout_s, retry_s
        self._questions: dict[tuple[Subject, int], _Question] = {}
        self._is_down = False

    async def since(self, subject: Subject, since_ms: int, own: int) -> Answer | None:
        """Returns spending since a time in billionths of a dollar, or None while it is unknown.

        `own` is what the caller has counted itself by now. Callers that ask the same thing at
        the same time share one question; nobody waits for one that takes too long or failed.
        """
        question = self._question(subject, since_ms, own)
        if question is None:
            return None
        rest_s = question.until_s - asyncio.get_running_loop().time()
        if not question.task.done() and rest_s > 0:
            await asyncio.wait({question.task}, timeout=rest_s)
        told = question.task.result() if question.task.done() else None
        return None if told is None else Answer(told, question.own)

    def _question(self, subject: Subject, since_ms: int, own: int) -> _Question | None:
        now_s = asyncio.get_running_loop().time()
        known = self._questions.get((subject, since_ms))
        if known and (now_s < known.again_at_s or not known.task.done()):
            return known
        if not self._has_place():
            return None
        question = _Question(
            asyncio.create_task(self._ask(subject, since_ms)),
            own,
            until_s=now_s + self._timeout_s,
            again_at_s=now_s + self._retry_s,
        )
        self._questions[subject, since_ms] = question
        return question

    def _has_place(self) -> bool:
        """Keeps the number of questions bounded while the store answers none of them."""
        if len(self._questions) >= MOST_QUESTIONS:
            asked = self._questions.items()
            self._questions = {key: each for key, each in asked if not each.task.done()}
        return len(self._questions) < MOST_QUESTIONS

    def forget(self, subject: Subject, since_ms: int) -> None:
        """Drops an answer that was taken in."""
        self._questions.pop((subject, since_ms), None)

    async def _ask(self, subject: Subject, since_ms: int) -> int | None:
        try:
            spent = nanos(await self._spent_usd(subject, since_ms / 1000))
        except Exception as error:  # noqa: BLE001 - the edge to any store: limits go on without it
            if not self._is_down:
                log.warning("spending_unknown", extra={"error": type(error).__name__})
            self._is_down = True
            return None
        self._is_down = False
        return spent
