"""The door of one model's waiting room: its clock, its timer, and the futures of those who wait."""

import asyncio
import time
from collections.abc import Callable, Iterable

from turnout.gateway.heartbeats import Heartbeats
from turnout.gateway.overload.places import Places
from turnout.gateway.overload.room import Decided, Refusal, Room, Ticket

LOOK_S = 0.05
"""How often replicas are looked at anew: new ones, those that left, what engines tell."""
OWN_WINDOW_S = 1.0
"""Engines tell once a second: what they tell now was so within the last two of these."""
Look = Callable[[int], Places]
"""Tells the places there are, for a gateway that had at most so many requests running lately."""


class Door:
    """Lets requests in, one after the other; opens on the running event loop."""

    def __init__(self, look: Look) -> None:
        self.room = Room()
        self._look = look
        self._loop = asyncio.get_running_loop()
        self._futures: dict[Ticket, asyncio.Future[Refusal | None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._fresh_until_s = self._window_ends_s = 0.0
        self._most_before = 0

    def now_s(self) -> float:
        """Returns the event loop's clock, with what is known of replicas not too old for it."""
        now_s = self._loop.time()
        if now_s >= self._fresh_until_s:
            self._see(now_s)
        return now_s

    def _see(self, now_s: float) -> None:
        self._fresh_until_s = now_s + LOOK_S
        room = self.room
        if now_s >= self._window_ends_s:
            self._window_ends_s = now_s + OWN_WINDOW_S
            self._most_before, room.most_running = room.most_running, room.running
        room.see(self._look(max(self._most_before, room.most_running)), now_s)

    async def wait(
        self, ticket: Ticket, most_waiting: int, heartbeats: Heartbeats | None
    ) -> Refusal | None:
        """Returns once the ticket has its place, or why it is refused."""
        future = self._futures[ticket] = self._loop.create_future()
        is_decided = False
        try:
            self._tell(self.room.enter(ticket, self._loop.time(), most_waiting))
            self._watch()
            refusal = await self._told(future, ticket, heartbeats)
            is_decided = True
        finally:
            del self._futures[ticket]
            if not is_decided:  # its client has left
                self.leave(ticket, None)
        return refusal

    async def _told(
        self,
        future: asyncio.Future[Refusal | None],
        ticket: Ticket,
        heartbeats: Heartbeats | None,
    ) -> Refusal | None:
        if heartbeats is not None:
            heartbeats.start(now_s := self._loop.time())
            # After its deadline it will be refused: with a status, if nothing was sent.
            while not future.done() and now_s < ticket.first_by_s:
                await heartbeats.beat(now_s)
                await asyncio.wait((future,), timeout=heartbeats.due_s - now_s)
                now_s = self._loop.time()
        return await future

    def began(self, ticket: Ticket, first_s: float) -> None:
        """Learns when the first token of a ticket that had its place came."""
        if ticket.admitted_s is not None:
            self.room.pace.began(max(0.0, first_s - ticket.admitted_s), self._loop.time())

    def leave(self, ticket: Ticket, first_ns: int | None) -> None:
        """Frees the ticket's place, or its place among those who wait.

        `first_ns` is when its first token came, where somebody saw it (perf_counter_ns).
        """
        now_s = self.now_s()
        if first_ns is not None:
            self.began(ticket, now_s - (time.perf_counter_ns() - first_ns) / 1e9)
        self.room.leave(ticket, now_s)
        if self._futures:
            self._tell(self.room.admit(now_s))

    def _tell(self, decided: Iterable[Decided]) -> None:
        for ticket, refusal in decided:
            future = self._futures.get(ticket)
            if future is not None and not future.done():
                future.set_result(refusal)

    def _watch(self) -> None:
        if self._timer is None and self.room.waiting:
            self._timer = self._loop.call_later(LOOK_S, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now_s = self.now_s()
        self._tell(self.room.sweep(now_s))
        self._tell(self.room.admit(now_s))
        self._watch()
