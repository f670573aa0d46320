"""One process's share of a run: starts conversations when they are due."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from turnout_load.client.connection import now_ns
from turnout_load.client.target import Origin
from turnout_load.record import UNKNOWN, Record
from turnout_load.run import pace
from turnout_load.run.sender import Sender
from turnout_load.spec import Spec
from turnout_load.workload.body import body, encode
from turnout_load.workload.work import Conversation, Message, Plan, Planned, Turn

RECONNECT_S = 0.5
"""How long a user of a closed loop waits for a server that cannot be connected to."""


@dataclass
class Shard:
    """What one process sends; times count from `start_ns` on `now_ns()`'s clock."""

    spec: Spec
    plan: Plan
    is_closed: bool
    origin: Origin
    sender: Sender
    start_ns: int
    index: int = 0
    count: int = 1
    turns_left_out: int = 0
    """Turns that were not sent because one before them failed."""

    async def run(self, stopped: asyncio.Event) -> None:
        """Sends everything; returns when all is answered, or soon after `stopped` is set.

        What was under way at a stop is recorded as unfinished.
        """
        await pace.until(self.start_ns)
        sending = asyncio.create_task(self._closed_loop() if self.is_closed else self._open_loop())
        helpers = [asyncio.create_task(self.sender.expire()), asyncio.create_task(stopped.wait())]
        await asyncio.wait([sending, helpers[1]], return_when=asyncio.FIRST_COMPLETED)
        for task in (sending, *helpers):
            task.cancel()
        results = await asyncio.gather(sending, *helpers, return_exceptions=True)
        self.sender.pool.close()
        await asyncio.sleep(0)  # lets the transports end before their loop does
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _open_loop(self) -> None:
        async with asyncio.TaskGroup() as conversations:
            for planned in self.plan.planned(self.index, self.count):
                assert planned.offset_ns is not None
                # made before its time, so that making it delays nobody
                first = self._payload(planned.conversation, [], planned.conversation.turns[0])
                await pace.until(self.start_ns + planned.offset_ns)
                conversations.create_task(self._converse(planned, planned.offset_ns, first))

    async def _closed_loop(self) -> None:
        plan = self.plan.planned(self.index, self.count)
        async with asyncio.TaskGroup() as users:
            for _ in range(self.index, self.spec.workload.users, self.count):
                users.create_task(self._user(plan))

    async def _user(self, plan: Iterator[Planned]) -> None:
        """One user of a closed loop: a conversation, then the next, until the time is up."""
        end_ns = None if self.spec.duration_s is None else self.spec.duration_s * 1e9
        for planned in plan:
            offset_ns = now_ns() - self.start_ns
            if end_ns is not None and offset_ns >= end_ns:
                return
            first = self._payload(planned.conversation, [], planned.conversation.turns[0])
            last = await self._converse(planned, offset_ns, first)
            if last.error == "connect":
                await asyncio.sleep(RECONNECT_S)

    async def _converse(self, planned: Planned, offset_ns: int, payload: bytes) -> Record:
        """Sends the turns one after the other; a failed one ends it. Returns the last record."""
        conversation, history = planned.conversation, list[Message]()
        record = Record(planned.index)
        for number, turn in enumerate(conversation.turns):
            if number:
                offset_ns = record.end_ns + round(turn.think_time_s * 1e9)
                payload = self._payload(conversation, history, turn)
                await pace.until(self.start_ns + offset_ns)
            record = Record(
                planned.index,
                turn=number,
                intended_ns=offset_ns,
                team=conversation.team,
                priority=UNKNOWN if conversation.priority is None else conversation.priority,
            )
            is_live = self.spec.workload.history == "live" or turn.reply is None
            has_next = number + 1 < len(conversation.turns)
            text = await self.sender.send(record, payload, keeps_text=is_live and has_next)
            if not record.ok:
                self.turns_left_out += len(conversation.turns) - number - 1
                break
            reply = {"role": "assistant", "content": turn.reply if text is None else text}
            history += [*turn.messages, reply]
        return record

    def _payload(self, conversation: Conversation, history: list[Message], turn: Turn) -> bytes:
        exact = self.spec.workload.exact_output
        return self.origin.payload(
            encode(body(self.spec.target, conversation, history, turn, exact))
        )
