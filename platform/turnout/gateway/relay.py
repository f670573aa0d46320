"""Sends a decided request on its way: to its model, or to the models that stand in for it."""

from functools import partial

from turnout.gateway.balancer import Balancer
from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import QueueFull, RequestError
from turnout.gateway.exchange import Exchange
from turnout.gateway.fallback import fallbacks, may_answer
from turnout.gateway.fleet import Fleet
from turnout.gateway.heartbeats import Heartbeats
from turnout.gateway.meter import Meter
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.order import Order, job_of
from turnout.gateway.overflow import TakeOver, take_over
from turnout.gateway.overload.admission import Admission
from turnout.gateway.overload.urgency import priority_of
from turnout.gateway.replicas import ReplicaTable
from turnout.gateway.request import GenerationRequest
from turnout.gateway.retry import RETRIED_STATUSES
from turnout.gateway.search import Search
from turnout.gateway.streaming import StreamDelivery
from turnout.gateway.transport import Transport
from turnout.gateway.whole import deliver_whole


class Relay:
    """Answers exchanges from replicas; what a replica fails to do, another one does."""

    def __init__(self, table: ReplicaTable, transport: Transport, metrics: GatewayMetrics) -> None:
        self._fleet = Fleet(table, transport, metrics)
        self.admission = Admission(table, metrics)

    @property
    def balancer(self) -> Balancer:
        """What chooses the replicas."""
        return self._fleet.balancer

    @balancer.setter
    def balancer(self, balancer: Balancer) -> None:
        self._fleet.balancer = balancer

    async def run(
        self,
        exchange: Exchange,
        request: GenerationRequest,
        model: str,
        catalog: Catalog,
        meter: Meter,
    ) -> None:
        """Answers the exchange from `model`, or from a fallback where it cannot answer.

        Raises a `RequestError` where none can, or where the answer broke off for good.
        """
        self._fleet.retries.request(self._fleet.now_s())
        order = Order(exchange, request, model, catalog, meter, job_of(exchange, request))
        left = fallbacks(order, self._fleet.table.replicas)
        if (taken := self._overflow(order)) is not None:
            left = [model, *(name for name in left if name != taken.model)]
            order = self._for(order, taken.model, taken.because)
            self._fleet.metrics.overflows(model, taken.model).inc()
        while True:
            try:
                return await self._deliver(order, waits=not left)
            except RequestError as error:
                if not left or exchange.has_begun or not _another_may(error):
                    raise
            instead = left.pop(0)
            self._fleet.metrics.fallbacks(order.model, instead).inc()
            order = self._for(order, instead, f"{order.model} cannot answer, {instead} stands in")

    def _overflow(self, order: Order) -> TakeOver | None:
        model = order.catalog.model(order.model)
        if model.overflow is None:
            return None
        fleet, exchange = self._fleet, order.exchange
        priority = priority_of(exchange.headers, exchange.priority)

        def may(name: str) -> bool:
            replicas = fleet.table.replicas
            is_out = fleet.balancer.opens_in_s(replicas(name)) > 0
            return not is_out and may_answer(order, name, replicas)

        return take_over(order.model, model, priority, self.admission.saturation, may)

    @staticmethod
    def _for(order: Order, model: str, because: str) -> Order:
        """Returns the order for another model, which is also whose price is paid."""
        exchange = order.exchange
        exchange.model, exchange.decision = model, because
        if exchange.account is not None:
            exchange.account.price = order.catalog.model(model).price
        return Order(exchange, order.request, model, order.catalog, order.meter, order.job)

    async def _deliver(self, order: Order, *, waits: bool) -> None:
        fleet, is_stream = self._fleet, order.request.is_stream
        wait_s = order.failover.wait_for_replica_s if waits else 0.0
        beats = Heartbeats(order.exchange, order.failover.heartbeat_s) if is_stream else None
        search = Search(fleet, order.job, order.model, order.catalog, wait_s, beats)
        if is_stream:
            deliver = StreamDelivery(order, fleet, search).run
        else:
            deliver = partial(deliver_whole, order, fleet, search)
        await self.admission.run(order, deliver, beats, wait_s)


def _another_may(error: RequestError) -> bool:
    """Whether another model may answer what this one could not."""
    return error.status in RETRIED_STATUSES or isinstance(error, QueueFull)
