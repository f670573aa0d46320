"""In front of the relay: a request gets a place on its model's replicas, waits or is refused."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

from turnout.gateway.errors import DeadlineUnreachable, NoReadyReplica, QueueFull, RequestError
from turnout.gateway.heartbeats import Heartbeats
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.order import Order
from turnout.gateway.overload.door import Door
from turnout.gateway.overload.places import places_of
from turnout.gateway.overload.room import Reason, Refusal, Ticket
from turnout.gateway.overload.urgency import deadline_s, priority_of
from turnout.gateway.replicas import ReplicaTable


class Admission:
    """The doors of all models of one gateway."""

    def __init__(self, table: ReplicaTable, metrics: GatewayMetrics) -> None:
        self._table, self._metrics = table, metrics
        self._doors: dict[str, Door] = {}
        self.gateways: Callable[[], int] = lambda: 1
        """Tells how many gateways send to the same replicas."""

    async def run(
        self,
        order: Order,
        deliver: Callable[[], Coroutine[Any, Any, None]],
        heartbeats: Heartbeats | None,
        wait_for_replica_s: float,
    ) -> None:
        """Delivers an order once it has a place; raises what `deliver` raises.

        A stream that has not begun by its deadline is given up. Of an answer in one piece nobody
        can tell when its first token came. Raises `InvalidField`, `QueueFull`,
        `DeadlineUnreachable` or `NoReadyReplica`.
        """
        exchange, is_stream = order.exchange, heartbeats is not None
        priority = priority_of(exchange.headers, exchange.priority)
        left_s = deadline_s(exchange.headers)
        door = self._doors.get(order.model) or self._open(order.model)
        now_s = door.now_s()
        if left_s is None:
            ticket = Ticket(priority, now_s, now_s + order.limits.request_timeout_s)
        else:
            arrived_s = now_s - exchange.elapsed_s()
            ticket = Ticket(priority, arrived_s, arrived_s + left_s)
        # Where there is no replica and nothing to wait for, the relay knows what to tell.
        has_none = door.room.places.count == 0 and not wait_for_replica_s
        if not has_none and not door.room.runs_at_once(ticket, now_s):
            ticket.patience_s = wait_for_replica_s
            await self._wait(order, door, ticket, heartbeats)
        try:
            if left_s is not None and is_stream:
                await self._in_time(order, door, ticket, deliver)
            else:
                await deliver()
        finally:
            door.leave(ticket, order.meter.first_ns if is_stream else None)

    def saturation(self, model: str) -> float:
        """Returns how full a model is, as of now: 1 where every place is taken."""
        door = self._doors.get(model) or self._open(model)
        door.now_s()
        return door.room.saturation

    def _open(self, model: str) -> Door:
        door = self._doors[model] = Door(
            lambda own: places_of(self._table.replicas(model), own, self.gateways())
        )
        return door

    async def _wait(
        self, order: Order, door: Door, ticket: Ticket, heartbeats: Heartbeats | None
    ) -> None:
        labels = order.model, ticket.priority.name.lower()
        most_waiting = order.catalog.model(order.model).max_queued_requests
        with self._metrics.queued(*labels).track_inprogress():
            refusal = await door.wait(ticket, most_waiting, heartbeats)
        order.exchange.mark("queue")
        self._metrics.queue_s(*labels).observe(door.now_s() - ticket.arrived_s)
        if refusal is not None:
            raise self._refused(order, refusal)

    async def _in_time(
        self,
        order: Order,
        door: Door,
        ticket: Ticket,
        deliver: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        cancelled, is_late = task.cancelling(), False

        def give_up() -> None:
            nonlocal is_late
            if order.meter.first_ns is None:
                is_late = True
                door.began(ticket, door.now_s())  # not before now: it would have taken longer
                # At once, as asyncio.timeout does not: a token that is just coming is too late.
                task.cancel()

        watch = asyncio.get_running_loop().call_at(ticket.first_by_s, give_up)
        try:
            await deliver()
        except asyncio.CancelledError:
            if not is_late or task.uncancel() > cancelled:
                raise
            refusal = Refusal(Reason.LATE, "its first token did not come by its deadline")
            raise self._refused(order, refusal) from None
        finally:
            watch.cancel()

    def _refused(self, order: Order, refusal: Refusal) -> RequestError:
        """Counts a refusal; returns what the client is told."""
        model, reason = order.model, refusal.reason
        self._metrics.overload_refusals(model, reason.value).inc()
        otherwise_s = order.limits.retry_after_s
        if reason is Reason.NOT_READY:
            return NoReadyReplica(f"no replica of '{model}' is ready", otherwise_s)
        error = QueueFull if reason is Reason.FULL else DeadlineUnreachable
        retry_s = math.ceil(refusal.retry_after_s) or otherwise_s
        return error(f"'{model}' is overloaded: {refusal.because}", retry_s)
