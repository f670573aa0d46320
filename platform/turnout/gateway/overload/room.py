"""One model's waiting room: who runs now, who waits behind whom, who is refused. Pure.

Waiting requests go by priority and arrival: an interactive one passes normal ones that came up to
`AGE_S` before it, so that these wait no longer than that for it. Batch requests come after all
others and leave some places free. Whose first token cannot come in time is refused: on arrival, or
as soon as that shows.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import count

from turnout.gateway.overload.pace import Pace
from turnout.gateway.overload.places import Places
from turnout.gateway.overload.urgency import Priority

AGE_S = 30.0
KEPT_FREE = 10
"""One place in so many is not for batch requests, and at least one of several."""


class Reason(Enum):
    """Why a request is refused; the values are metrics' labels."""

    FULL = "queue_full"
    LATE = "deadline_unreachable"
    NOT_READY = "no_ready_replica"


@dataclass(frozen=True)
class Refusal:
    """That a request is refused."""

    reason: Reason
    because: str
    retry_after_s: float = 0.0
    """0 where nothing was measured to tell it from."""


@dataclass(eq=False, slots=True)
class Ticket:
    """One request that wants a place, or has one."""

    priority: Priority
    arrived_s: float
    first_by_s: float = math.inf
    """When its first token has to be there."""
    patience_s: float = field(init=False, default=math.inf)
    """How long it waits for a replica where there is none."""
    admitted_s: float | None = field(init=False, default=None)
    key: tuple[bool, float, int] = field(init=False, default=(False, 0.0, -1))
    """Its place in the order, while it waits."""


Waiting = tuple[tuple[bool, float, int], Ticket]
Decided = tuple[Ticket, Refusal | None]
"""A ticket that waits no longer: it has its place, or is refused."""


class Room:
    """Decides for one model; what the clock shows is told at every call."""

    def __init__(self) -> None:
        self.places = Places(None)
        self.running = 0
        self.most_running = 0
        """Since it was last set back to `running`."""
        self.pace = Pace()
        self._waiting: list[Waiting] = []
        self._numbers = count()
        self._empty_since_s: float | None = None

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return len(self._waiting)

    @property
    def saturation(self) -> float:
        """Requests running and waiting as a share of the places; 1 at least where engines queue."""
        places, pressed = self.places.count, 1.0 if self.places.is_pressed else 0.0
        if places is None:
            return pressed
        if places == 0:
            return math.inf
        return max(pressed, (self.running + self.waiting) / places)

    def see(self, places: Places, now_s: float) -> None:
        """Takes in what there is to run on now."""
        self.places = places
        if places.count != 0:
            self._empty_since_s = None
        elif self._empty_since_s is None:
            self._empty_since_s = now_s

    def runs_at_once(self, ticket: Ticket, now_s: float) -> bool:
        """Gives a newcomer a place if nobody who waits should have it; tells whether it did."""
        waiting = self._waiting
        if (waiting and waiting[0][1].priority <= ticket.priority) or not self._fits(
            ticket.priority
        ):
            return False
        pace, left_s = self.pace, ticket.first_by_s - now_s
        if left_s < pace.last_first_s and left_s < pace.first_s(now_s):  # the cheap test first
            return False
        self._admit(ticket, now_s)
        return True

    def enter(self, ticket: Ticket, now_s: float, most_waiting: int) -> list[Decided]:
        """Takes a newcomer in to wait; returns who is refused for it, maybe itself."""
        key = self._key_of(ticket)
        ahead = bisect_left(self._waiting, (key, ticket))
        late_s = self._first_in_s(ahead, now_s) - (ticket.first_by_s - now_s)
        if late_s > 0:
            return [(ticket, self._late(late_s))]
        refused: list[Decided] = []
        if len(self._waiting) >= most_waiting:
            last = self._last_of_the_lowest()
            if last is None or last.priority <= ticket.priority:
                return [(ticket, self._full(now_s))]
            self._forget(last)
            refused.append((last, self._full(now_s)))
        insort(self._waiting, (key, ticket))
        return refused

    def leave(self, ticket: Ticket, now_s: float) -> None:
        """Takes in that a request has ended, or that its client stopped waiting."""
        if ticket.admitted_s is not None:
            self.running -= 1
            self.pace.left(now_s - ticket.admitted_s)
        elif self._waiting:
            self._forget(ticket)

    def admit(self, now_s: float) -> list[Decided]:
        """Gives free places to those who wait, the first ones first."""
        return list(self._admitted(now_s))

    def sweep(self, now_s: float) -> list[Decided]:
        """Refuses those who wait in vain; returns them."""
        left: list[Waiting] = []
        refused: list[Decided] = []
        for entry in self._waiting:
            ticket = entry[1]
            late_s = now_s + self._first_in_s(len(left), now_s) - ticket.first_by_s
            if late_s > 0:
                refused.append((ticket, self._late(late_s)))
            elif self._waits_in_vain(ticket, now_s):
                refused.append((ticket, Refusal(Reason.NOT_READY, "no replica is ready")))
            else:
                left.append(entry)
        self._waiting = left
        return refused

    def _admitted(self, now_s: float) -> Iterator[Decided]:
        while self._waiting and self._fits(self._waiting[0][1].priority):
            _, ticket = self._waiting.pop(0)
            late_s = now_s + self.pace.first_at_most_s(now_s) - ticket.first_by_s
            if late_s > 0:
                yield ticket, self._late(late_s)
            else:
                self._admit(ticket, now_s)
                yield ticket, None

    def _admit(self, ticket: Ticket, now_s: float) -> None:
        ticket.admitted_s = now_s
        self.running += 1
        self.most_running = max(self.most_running, self.running)

    def _fits(self, priority: Priority) -> bool:
        places = self.places.count
        if places is None:
            return priority is not Priority.BATCH or not self.places.is_pressed
        if priority is Priority.BATCH and places > 1:
            places -= max(1, places // KEPT_FREE)
        return self.running < places

    def _key_of(self, ticket: Ticket) -> tuple[bool, float, int]:
        is_batch = ticket.priority is Priority.BATCH
        ticket.key = is_batch, ticket.arrived_s + AGE_S * ticket.priority, next(self._numbers)
        return ticket.key

    def _last_of_the_lowest(self) -> Ticket | None:
        lowest = max((ticket.priority for _, ticket in self._waiting), default=None)
        return next((each for _, each in reversed(self._waiting) if each.priority == lowest), None)

    def _forget(self, ticket: Ticket) -> None:
        at = bisect_left(self._waiting, ticket.key, key=lambda entry: entry[0])
        if at < len(self._waiting) and self._waiting[at][1] is ticket:
            del self._waiting[at]

    def _wait_s(self, ahead: int) -> float:
        """Returns how long one waits behind so many: in a place time each place is left once.

        0 while there is no place at all: nobody knows when there will be.
        """
        places = self.places.count
        return (ahead + 1) * self.pace.place_s / places if places else 0.0

    def _first_in_s(self, ahead: int, now_s: float) -> float:
        return self._wait_s(ahead) + self.pace.first_at_most_s(now_s)

    def _waits_in_vain(self, ticket: Ticket, now_s: float) -> bool:
        since = self._empty_since_s
        return since is not None and now_s - max(since, ticket.arrived_s) >= ticket.patience_s

    def _late(self, late_s: float) -> Refusal:
        because = f"its first token would come some {late_s:.1f} s too late"
        return Refusal(Reason.LATE, because, late_s)

    def _full(self, now_s: float) -> Refusal:
        waiting = len(self._waiting)
        because = f"{waiting} requests wait already"
        return Refusal(Reason.FULL, because, self._first_in_s(waiting, now_s))
