"""Sends a decided request to a replica and its answer back to the client."""

import json
import logging
from collections.abc import Iterable, Iterator

from turnout.gateway.api import PATHS
from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import (
    INVALID_REQUEST,
    ContextLengthExceeded,
    EngineRefused,
    NoReadyReplica,
    ReplicaLost,
)
from turnout.gateway.exchange import Exchange
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.replicas import InFlight, Replica, ReplicaTable, pick
from turnout.gateway.request import GenerationRequest
from turnout.gateway.sse import DONE, EventSplitter, Usage, usage_of
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
            path = PATHS[request.endpoint]
            try:
                async with self._transport.send(replica, path, body) as answer:
                    exchange.mark("replica")
                    return await self._pass_on(exchange, request, replica, answer)
            except AnswerBroken as error:
                self._note_failure("answer_broken", replica, error.problem)
                raise ReplicaLost(
                    f"the replica of '{model}' was lost while it answered", 1
                ) from error
            except ReplicaUnreachable as error:
                self._note_failure("replica_unreachable", replica, error.problem)
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

    def _note_failure(self, event: str, replica: Replica, problem: str) -> None:
        self._metrics.replica_failures.labels(replica.model, replica.market).inc()
        log.warning(event, extra={"replica": replica.id, "why": problem})

    async def _pass_on(
        self, exchange: Exchange, request: GenerationRequest, replica: Replica, answer: Answer
    ) -> None:
        if answer.status != 200:
            raise engine_error(answer.status, await answer.read(), request.prompt_field)
        if request.is_stream:
            await self._stream(exchange, request, replica, answer)
        else:
            await self._whole(exchange, replica, answer)

    async def _whole(self, exchange: Exchange, replica: Replica, answer: Answer) -> None:
        data = await answer.read()
        exchange.mark("generate")
        try:
            self._meter(replica.model, Usage.of(json.loads(data)))
        except ValueError:
            raise AnswerBroken(replica.id, "not JSON") from None
        await exchange.answer(data, answer.content_type)

    async def _stream(
        self, exchange: Exchange, request: GenerationRequest, replica: Replica, answer: Answer
    ) -> None:
        splitter = EventSplitter()
        async for chunk in answer.chunks:
            events = splitter.feed(chunk)
            if not events:
                continue
            if not exchange.has_begun:
                exchange.mark("first")
                self._metrics.ttft_s.labels(replica.model).observe(exchange.elapsed_s())
                await exchange.begin(200, answer.content_type, {"cache-control": "no-cache"})
            data = b"".join(self._metered(events, replica.model, request.wants_usage))
            if events[-1] == DONE:
                await exchange.end(data)
            elif data:
                await exchange.write(data)
        if not exchange.has_ended:
            raise AnswerBroken(replica.id, "no [DONE]")

    def _metered(self, events: Iterable[bytes], model: str, wants_usage: bool) -> Iterator[bytes]:
        """Passes the client's events on: all but the usage that it did not ask for."""
        for event in events:
            usage = usage_of(event)
            self._meter(model, usage)
            if usage is None or wants_usage:
                yield event

    def _meter(self, model: str, usage: Usage | None) -> None:
        if usage:
            self._metrics.tokens.labels(model, "prompt").inc(usage.prompt_tokens)
            self._metrics.tokens.labels(model, "completion").inc(usage.completion_tokens)


def engine_error(
    status: int, body: bytes, prompt_field: str
) -> EngineRefused | ContextLengthExceeded:
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
        return ContextLengthExceeded(message, prompt_field)
    kind = INVALID_REQUEST if 400 <= status < 500 else "server_error"
    return EngineRefused(status if status >= 400 else 502, message, kind, error.get("param"))
