"""Sends a decided request on its way: to its model, or to the models that stand in for it."""

from functools import partial

from turnout.gateway.balancer import Balancer
from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import QueueFull, RequestError
from turnout.gateway.exchange import Exchange
from turnout.gateway.fallback import fallbacks
from turnout.gateway.fleet import Fleet
from turnout.gateway.heartbeats import Heartbeats
from turnout.gateway.meter import Meter
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.order import Order, job_of
from turnout.gateway.overload.admission import Admission
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
        while True:
            try:
                return await self._deliver(order, waits=not left)
            except RequestError as error:
                if not left or exchange.has_begun or not _another_may(error):
                    raise
            order = self._instead(order, left.pop(0))

    def _instead(self, order: Order, model: str) -> Order:
        """Returns the order for a model that stands in, which is also whose price is paid."""
        exchange = order.exchange
        exchange.decision = f"{order.model} cannot answer, {model} stands in"
        exchange.model = model
        if exchange.account is not None:
            exchange.account.price = order.catalog.model(model).price
        self._fleet.metrics.fallbacks(order.model, model).inc()
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
