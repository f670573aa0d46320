"""Delivers whole answers: until all is there nothing is sent, and another replica can do it."""

from turnout.gateway.api import PATHS
from turnout.gateway.attempt import Attempt
from turnout.gateway.fleet import Fleet
from turnout.gateway.order import Order
from turnout.gateway.resume import ask
from turnout.gateway.search import LOST, Search


async def deliver_whole(order: Order, fleet: Fleet, search: Search) -> None:
    """Answers the exchange; raises what the client is told where no replica can."""
    exchange, request, meter = order.exchange, order.request, order.meter
    body = ask.first(request, order.model, asks_ids=False)
    while True:
        replica = await search.next()
        meter.sent(replica.id, replica.market)
        on_head = lambda: exchange.mark("replica")  # noqa: E731
        attempt = Attempt(fleet.balancer, fleet.transport, replica, order.job, on_head)
        try:
            data, used = await attempt.whole(PATHS[request.endpoint], body, request.prompt_field)
            meter.got()
            exchange.mark("generate")
            if used is not None:
                meter.usage = used
                attempt.output_tokens = used.completion_tokens
            fleet.count(order.model, used)
            await exchange.send_whole(data, attempt.content_type)
            return
        except LOST as error:
            search.failed(error)
        finally:
            await attempt.close()
