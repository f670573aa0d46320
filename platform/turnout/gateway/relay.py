"""Sends a decided request to a replica and its answer back to the client."""

import json
import logging
from contextlib import AsyncExitStack

from turnout.gateway.api import PATHS
from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import ContextLengthExceeded, EngineRefused, NoReadyReplica, ReplicaLost
from turnout.gateway.exchange import Exchange
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.replicas import InFlight, Replica, ReplicaTable, pick
from turnout.gateway.request import GenerationRequest
from turnout.gateway.sse import EventSplitter, Usage, error_event, usage_of
from turnout.gateway.transport import Answer, AnswerBroken, ReplicaUnreachable, Transport

log = logging.getLogger(__name__)
MAX_ATTEMPTS = 3


class Relay:
    """Picks replicas, sends, relays and meters; replicas that cannot be reached are replaced."""

    def __init__(self, table: ReplicaTable, transport: Transport, metrics: GatewayMetrics) -> None:
        self._table = table
        self._transport = transport
        self._metrics = metrics
        self.in_flight = InFlight()

    async def run(
        self, exchange: Exchange, request: GenerationRequest, model: str, catalog: Catalog
    ) -> None:
        """Answers the exchange from `model`; raises a `RequestError` while nothing is sent yet."""
        body = request.for_engine(model)
        tried: set[str] = set()
        while True:
            replica = self._pick(model, catalog, tried)
            self.in_flight.begin(replica)
            try:
                async with AsyncExitStack() as stack:
                    sent = self._transport.send(replica, PATHS[request.endpoint], body)
                    answer = await stack.enter_async_context(sent)
                    exchange.mark("replica")
                    return await self._pass_on(exchange, request, replica, answer)
            except ReplicaUnreachable as error:
                self._metrics.retries.labels(model, replica.market).inc()
                log.warning(
                    "replica_unreachable", extra={"replica": replica.id, "why": error.problem}
                )
                tried.add(replica.id)
                if len(tried) >= MAX_ATTEMPTS:
                    raise NoReadyReplica(
                        f"{len(tried)} replicas of '{model}' could not be reached",
                        catalog.settings.limits.retry_after_s,
                    ) from error
            finally:
                self.in_flight.end(replica)

    def _pick(self, model: str, catalog: Catalog, tried: set[str]) -> Replica:
        pools = catalog.model(model).pools
        replica = pick(self._table.replicas(model), self.in_flight, pools, tried)
        if replica is None:
            raise NoReadyReplica(
                f"no replica of '{model}' is ready", catalog.settings.limits.retry_after_s
            )
        return replica

    async def _pass_on(
        self, exchange: Exchange, request: GenerationRequest, replica: Replica, answer: Answer
    ) -> None:
        try:
            if answer.status != 200:
                raise engine_error(answer.status, await answer.read())
            if request.is_stream:
                await self._stream(exchange, request, replica.model, answer)
            else:
                await self._whole(exchange, replica.model, answer)
        except AnswerBroken as error:
            log.warning("answer_broken", extra={"replica": replica.id, "why": error.problem})
            lost = ReplicaLost(f"the replica of '{replica.model}' was lost while it answered", 1)
            if not exchange.has_begun:
                raise lost from error
            await exchange.end(error_event(lost.body()))

    async def _whole(self, exchange: Exchange, model: str, answer: Answer) -> None:
        data = await answer.read()
        exchange.mark("generate")
        self._metrics.ttft_s.labels(model).observe(exchange.elapsed_s())
        self._meter(model, Usage.of(json.loads(data)))
        await exchange.answer(data, answer.content_type)

    async def _stream(
        self, exchange: Exchange, request: GenerationRequest, model: str, answer: Answer
    ) -> None:
        splitter = EventSplitter()
        async for chunk in answer.chunks:
            if not exchange.has_begun:
                exchange.mark("first")
                self._metrics.ttft_s.labels(model).observe(exchange.elapsed_s())
                await exchange.begin(200, answer.content_type, {"cache-control": "no-cache"})
            events = splitter.feed(chunk)
            for event in events:
                if usage := usage_of(event):
                    self._meter(model, usage)
                    if not request.wants_usage:
                        events.remove(event)
            if events:
                await exchange.write(b"".join(events))
        if not exchange.has_begun:
            raise AnswerBroken(model, "an empty stream")
        await exchange.end(splitter.rest)

    def _meter(self, model: str, usage: Usage | None) -> None:
        if usage:
            self._metrics.tokens.labels(model, "prompt").inc(usage.prompt_tokens)
            self._metrics.tokens.labels(model, "completion").inc(usage.completion_tokens)


def engine_error(status: int, body: bytes) -> EngineRefused | ContextLengthExceeded:
    """Returns an engine's error answer in OpenAI's shape, whatever shape it came in. Pure."""
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = {}
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else {}
    if not isinstance(error, dict):
        error = {"message": str(error)}
    message = str(error.get("message") or error.get("detail") or f"the engine answered {status}")
    # vLLM's validator words every window error this way (tests/e2e checks that it still does).
    if status == 400 and "maximum context length" in message:
        return ContextLengthExceeded(message, str(error.get("param") or "messages"))
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return EngineRefused(status, message, kind, error.get("param"))
