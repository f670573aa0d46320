"""Settlements that wait to be delivered: a bounded queue, oldest first."""

import logging
from collections import deque

from turnout.limits.scripts import Settlement

log = logging.getLogger(__name__)


class Outbox:
    """Keeps settlements while the accounts cannot be reached; when full, the oldest go."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._waiting: deque[Settlement] = deque()
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, settlement: Settlement) -> None:
        """Adds a settlement."""
        self._waiting.append(settlement)
        self._drop_what_is_too_much()

    def take(self, most: int) -> list[Settlement]:
        """Removes and returns the oldest."""
        return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def put_back(self, settlements: list[Settlement]) -> None:
        """Returns settlements that could not be delivered to the head of the queue."""
        self._waiting.extendleft(reversed(settlements))
        self._drop_what_is_too_much()

    def _drop_what_is_too_much(self) -> None:
        while len(self._waiting) > self._most:
            self._waiting.popleft()
            self._dropped += 1

    def report(self) -> None:
        """Tells the log how many were dropped since it was last told."""
        if self._dropped:
            log.error("settlements_dropped", extra={"count": self._dropped})
            self._dropped = 0
