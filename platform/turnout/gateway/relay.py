"""Sends a decided request to a replica and its answer back to the client."""

import json
import logging
from collections.abc import Iterable, Iterator

from turnout.gateway.api import PATHS
from turnout.gateway.balancer import Balancer, Job
from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import (
    INVALID_REQUEST,
    ContextLengthExceeded,
    EngineRefused,
    NoReadyReplica,
    ReplicaLost,
)
from turnout.gateway.exchange import Exchange
from turnout.gateway.meter import Meter
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.replicas import Replica, ReplicaTable
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
        self.balancer = Balancer()

    async def run(
        self,
        exchange: Exchange,
        request: GenerationRequest,
        model: str,
        catalog: Catalog,
        meter: Meter,
    ) -> None:
        """Answers the exchange from `model`; raises a `RequestError` while nothing is sent yet."""
        body, job = request.for_engine(model), Job(request.text)
        tried: set[str] = set()
        while True:
            replica = self._choose(job, model, catalog, tried)
            self.balancer.begin(replica, job)
            meter.sent(replica.id, replica.market)
            path = PATHS[request.endpoint]
            try:
                async with self._transport.send(replica, path, body) as answer:
                    exchange.mark("replica")
                    return await self._pass_on(exchange, request, replica, answer, meter)
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
                self.balancer.end(replica, job)

    def _choose(self, job: Job, model: str, catalog: Catalog, tried: set[str]) -> Replica:
        pools = catalog.model(model).pools
        replica = self.balancer.choose(job, self._table.replicas(model), pools, tried)
        if replica is None:
            raise NoReadyReplica(
                f"no replica of '{model}' is ready", catalog.settings.limits.retry_after_s
            )
        return replica

    def _note_failure(self, event: str, replica: Replica, problem: str) -> None:
        self.balancer.failed(replica)
        self._metrics.replica_failures.labels(replica.model, replica.market).inc()
        log.warning(event, extra={"replica": replica.id, "why": problem})

    async def _pass_on(
        self,
        exchange: Exchange,
        request: GenerationRequest,
        replica: Replica,
        answer: Answer,
        meter: Meter,
    ) -> None:
        if answer.status != 200:
            raise engine_error(answer.status, await answer.read(), request.prompt_field)
        if request.is_stream:
            await self._stream(exchange, request, replica, answer, meter)
        else:
            await self._whole(exchange, replica, answer, meter)

    async def _whole(
        self, exchange: Exchange, replica: Replica, answer: Answer, meter: Meter
    ) -> None:
        data = await answer.read()
        meter.got()
        exchange.mark("generate")
        try:
            self._meter(replica.model, Usage.of(json.loads(data)), meter)
        except ValueError:
            raise AnswerBroken(replica.id, "not JSON") from None
        await exchange.send_whole(data, answer.content_type)

    async def _stream(
        self,
        exchange: Exchange,
        request: GenerationRequest,
        replica: Replica,
        answer: Answer,
        meter: Meter,
    ) -> None:
        splitter = EventSplitter()
        async for chunk in answer.chunks:
            events = splitter.feed(chunk)
            if not events:
                continue
            meter.got()
            if not exchange.has_begun:
                exchange.mark("first")
                self._metrics.ttft_s.labels(replica.model).observe(exchange.elapsed_s())
                await exchange.begin(200, answer.content_type, {"cache-control": "no-cache"})
            kept = list(self._metered(events, replica.model, request.wants_usage, meter))
            await exchange.send_events(kept, last=events[-1] == DONE)
        if not exchange.has_ended:
            raise AnswerBroken(replica.id, "no [DONE]")

    def _metered(
        self, events: Iterable[bytes], model: str, wants_usage: bool, meter: Meter
    ) -> Iterator[bytes]:
        """Passes the client's events on: all but the usage that it did not ask for."""
        for event in events:
            usage = usage_of(event)
            self._meter(model, usage, meter)
            if usage is None or wants_usage:
                yield event

    def _meter(self, model: str, usage: Usage | None, meter: Meter) -> None:
        if usage:
            meter.usage = usage
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
