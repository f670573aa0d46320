"""The gateway's ASGI app: routes a path to its answer and turns every error into OpenAI's shape."""

import asyncio
import json
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric

from turnout.access.caller import ANYONE, Access, Caller, Denied, OpenAccess, Scope
from turnout.batches.errors import BatchesNotKept
from turnout.batches.paths import methods_of
from turnout.config.settings import AUTO, GatewaySettings
from turnout.gateway.accounting import Account, OutputTokens, predicted
from turnout.gateway.balancer import Balancer
from turnout.gateway.catalog import Catalog
from turnout.gateway.dialects.messages import COUNT_PATH
from turnout.gateway.dispatch import Difficulty, Dispatcher
from turnout.gateway.endpoints import DIALECTS, QUESTIONS
from turnout.gateway.errors import (
    BodyTooSlow,
    Forbidden,
    GatewayFault,
    KeysUnavailable,
    LimitReached,
    MethodNotAllowed,
    NoReadyReplica,
    RequestError,
    RequestTimedOut,
    Unauthorized,
    UnknownModel,
    UnknownPath,
)
from turnout.gateway.exchange import ClientLeft, Exchange, Receive, Send
from turnout.gateway.exchange import Scope as AsgiScope
from turnout.gateway.media import check_media
from turnout.gateway.meter import Meter
from turnout.gateway.metrics import GatewayMetrics, exposition
from turnout.gateway.openapi import openapi
from turnout.gateway.record_of import record_of
from turnout.gateway.relay import Relay
from turnout.gateway.replicas import ReplicaTable
from turnout.gateway.request import GenerationRequest
from turnout.gateway.tokenizer_pages import DETOKENIZE, TokenizerPages
from turnout.gateway.tokens import PATH as TOKENIZE
from turnout.gateway.tokens import token_counter
from turnout.gateway.transport import Transport
from turnout.gateway.upstream.beyond import Beyond
from turnout.gateway.usage_page import PATH as USAGE
from turnout.gateway.usage_page import answer_usage
from turnout.limits.claim import Claim, Limiter, NoLimits, Refusal, Reservation
from turnout.usage.record import Ledger, NoLedger
from turnout.usage.reports import Reports

log = logging.getLogger(__name__)
AllMetrics = Callable[[], Awaitable[Iterable[Iterable[Metric]]]]
MODELS = "/v1/models"
CLIENT_LEFT = 499
DEFAULT_OUTPUT_TOKENS = 256
Work = Callable[[Exchange, bytes, Caller, Dispatcher], Coroutine[Any, Any, None]]
"""Answers a body, for a caller, with the settings that hold now."""


class Desk(Protocol):
    """Answers what is asked of files and batches."""

    async def answer(self, exchange: Exchange, caller: Caller) -> None:
        """Answers a caller; raises a `RequestError`."""
        ...


@dataclass(frozen=True)
class Governance:
    """Who may call, how much, and who writes it down; open to everyone by default."""

    access: Access = field(default_factory=OpenAccess)
    limiter: Limiter = field(default_factory=NoLimits)
    ledger: Ledger = field(default_factory=NoLedger)
    reports: Reports | None = None
    """Answers `/v1/usage`; None where no usage is kept."""
    desk: Desk | None = None
    """Answers `/v1/files` and `/v1/batches`; None where there are none."""


class Gateway:
    """Answers OpenAI's API for the models of its settings; plain ASGI, `configure` any time."""

    def __init__(
        self,
        table: ReplicaTable,
        transport: Transport,
        metrics: GatewayMetrics,
        all_metrics: AllMetrics,
        *,
        sends_request_id: bool = True,
        balancer: Balancer | None = None,
    ) -> None:
        """`sends_request_id=False` where a server in front answers with that header already.

        A server that knows better says so in the scope, as `turnout.sends_id`.
        """
        self._sends_request_id = sends_request_id
        self._governance = Governance()
        self._table = self._beyond = Beyond(table, transport)
        self._metrics = metrics
        self._all_metrics = all_metrics
        self._relay = Relay(self._beyond, self._beyond, metrics)
        if balancer is not None:
            self._relay.balancer = balancer
        self._count_tokens = token_counter(self._beyond)
        tokenizers = TokenizerPages(self._beyond, self._beyond)
        self._questions: Mapping[str, Work] = {
            TOKENIZE: tokenizers.ask,
            DETOKENIZE: tokenizers.ask,
            COUNT_PATH: tokenizers.count,
        }
        self._pages = {
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/metrics": self._metrics_page,
            "/openapi.json": self._openapi,
            MODELS: self._models,
            USAGE: self._usage,
        }

    def govern(self, governance: Governance) -> None:
        """Says who may call, how much, and who writes it down, for the requests to come."""
        self._governance = governance

    def share_replicas(self, gateways: Callable[[], int]) -> None:
        """Says how many gateways send to the same replicas; by default it is alone."""
        self._relay.admission.gateways = gateways
        self._beyond.share(gateways)

    def configure(
        self,
        settings: GatewaySettings,
        difficulty: Difficulty,
        output_tokens: OutputTokens | None = None,
    ) -> None:
        """Takes new settings for the requests to come; running ones keep the old.

        Without `output_tokens` an answer is expected to have the router's default length.
        """
        self._output_tokens = output_tokens or _unpredicted
        self._catalog = Catalog(settings)
        self._beyond.configure(settings.models)
        self._dispatcher = Dispatcher(
            self._catalog, self._table.replicas, difficulty, self._count_tokens
        )

    async def close(self) -> None:
        """Closes the connections to upstreams."""
        await self._beyond.close()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close"})  # which servers answer with 403
            return
        exchange = Exchange(scope, receive, send, sends_id=self._sends_request_id)
        try:
            await self._answer(exchange)
        except RequestError as error:
            await exchange.refuse(error)
        except ClientLeft:
            exchange.status = CLIENT_LEFT
        except asyncio.CancelledError:  # how Serve tells that the client left
            exchange.status = CLIENT_LEFT
            raise
        except Exception as error:  # noqa: BLE001 - the edge: every fault is logged and answered
            _log_fault(exchange.id, error)
            await exchange.refuse(GatewayFault(exchange.id))
        finally:
            self._count(exchange)
            self._settle(exchange)

    async def _answer(self, exchange: Exchange) -> None:
        dialect = DIALECTS.get(exchange.path) or QUESTIONS.get(exchange.path)
        if dialect is not None:
            exchange.dialect = dialect.for_exchange()
            _allow(exchange, "POST")
            await self._post(exchange, self._ask if exchange.path in QUESTIONS else self._generate)
            return
        page = self._pages.get(exchange.path)
        if page is None and exchange.path.startswith(MODELS + "/"):
            page = self._one_model
        if page is None and (methods := methods_of(exchange.path)):
            _allow(exchange, *methods)
            await self._batches(exchange)
            return
        if page is None:
            raise UnknownPath(exchange.method, exchange.path)
        _allow(exchange, "GET", "HEAD")
        await page(exchange)

    async def _post(self, exchange: Exchange, work: Work) -> None:
        """Does the work on the body while the client stays; raises what is too slow, too."""
        dispatcher = self._dispatcher
        settings = dispatcher.catalog.settings
        limits = settings.limits
        raw: bytes | None = None
        try:
            async with asyncio.timeout(limits.body_timeout_s) as limit:
                caller = await self._caller(exchange, "inference")
                raw = await exchange.body(limits.max_body_bytes)
                limit.reschedule(asyncio.get_running_loop().time() + limits.request_timeout_s)
                await exchange.while_client_stays(work(exchange, raw, caller, dispatcher))
        except TimeoutError:
            if raw is None:
                raise BodyTooSlow(limits.body_timeout_s) from None
            raise RequestTimedOut(limits.request_timeout_s) from None

    async def _caller(self, exchange: Exchange, scope: Scope) -> Caller:
        """Returns who calls; raises `Unauthorized` or `Forbidden`."""
        caller = exchange.caller or await self._governance.access.identify(exchange.headers)
        if isinstance(caller, Denied):
            if caller.is_temporary:
                retry_after_s = self._catalog.settings.limits.retry_after_s
                raise KeysUnavailable(caller.because, retry_after_s)
            raise Unauthorized(caller.because)
        if scope not in caller.scopes:
            raise Forbidden(scope)
        return caller

    async def _generate(
        self, exchange: Exchange, raw: bytes, caller: Caller, dispatcher: Dispatcher
    ) -> None:
        settings = dispatcher.catalog.settings
        request = exchange.dialect.request(raw, settings.engine_fields)
        check_media(request.fields, settings.media_hosts)
        if settings.cache_salt == "team" and caller is not ANYONE:
            request = request.with_salt(caller.team)
        exchange.mark("parse")
        decision = await dispatcher.decide(request, caller)
        exchange.mark("decide")
        exchange.model, exchange.decision = decision.model, decision.because
        self._note_decision(exchange, AUTO if request.model == AUTO else "named")
        meter = await self._reserve(exchange, request, caller, dispatcher)
        with self._metrics.in_flight(decision.model).track_inprogress():
            await self._relay.run(exchange, request, decision.model, dispatcher.catalog, meter)
        self._metrics.duration_s(decision.model).observe(exchange.elapsed_s())

    async def _ask(
        self, exchange: Exchange, raw: bytes, caller: Caller, dispatcher: Dispatcher
    ) -> None:
        """Answers what a tokenizer is asked, which counts as a request that uses no tokens."""
        limiter = self._governance.limiter
        granted = await self._granted(exchange, caller, limiter, Claim(0, 0.0))
        try:
            await self._questions[exchange.path](exchange, raw, caller, dispatcher)
        finally:
            limiter.settle(granted, granted.claim)

    @staticmethod
    async def _granted(
        exchange: Exchange, caller: Caller, limiter: Limiter, claim: Claim
    ) -> Reservation:
        """Takes a claim out of the caller's limits; raises `LimitReached`."""
        granted = await limiter.reserve(caller, claim)
        if isinstance(granted, Refusal):
            raise LimitReached(granted)
        exchange.more_headers.update(granted.headers)
        return granted

    async def _reserve(
        self,
        exchange: Exchange,
        request: GenerationRequest,
        caller: Caller,
        dispatcher: Dispatcher,
    ) -> Meter:
        """Takes what the request will probably use out of its limits; raises `LimitReached`."""
        price = dispatcher.catalog.model(exchange.model).price
        output_tokens = self._output_tokens if caller.is_metered else _unpredicted
        claim = predicted(request, price, output_tokens)
        limiter = self._governance.limiter
        granted = await self._granted(exchange, caller, limiter, claim)
        exchange.account = Account(caller, price, limiter, granted, Meter())
        return exchange.account.meter

    def _settle(self, exchange: Exchange) -> None:
        account = exchange.account
        if account is not None:
            account.settle()
            self._governance.ledger.note(record_of(exchange, account))

    def _note_decision(self, exchange: Exchange, asked: str) -> None:
        self._metrics.decisions(asked, exchange.model).inc()
        self._metrics.decision_s.observe(exchange.lap_s("parse", "decide"))
        log.info(
            "decision",
            extra={
                "request_id": exchange.id,
                "asked": asked,
                "model": exchange.model,
                "because": exchange.decision,
            },
        )

    def _count(self, exchange: Exchange) -> None:
        if exchange.path in DIALECTS:
            endpoint = DIALECTS[exchange.path].name
            self._metrics.requests(endpoint, exchange.model, str(exchange.status)).inc()

    async def _healthz(self, exchange: Exchange) -> None:
        await exchange.answer(b'{"status": "ok"}')

    async def _readyz(self, exchange: Exchange) -> None:
        """Ready when every model that runs here can answer; names those that cannot."""
        waiting = [
            name
            for name, model in self._catalog.settings.models.items()
            if model.upstream is None and not self._table.replicas(name)
        ]
        if waiting:
            limits = self._catalog.settings.limits
            raise NoReadyReplica(f"waiting for {', '.join(waiting)}", limits.retry_after_s)
        await exchange.answer(b'{"status": "ready"}')

    async def _metrics_page(self, exchange: Exchange) -> None:
        await exchange.answer(exposition(await self._all_metrics()), CONTENT_TYPE_LATEST)

    async def _openapi(self, exchange: Exchange) -> None:
        await exchange.answer(json.dumps(openapi()).encode())

    async def _models(self, exchange: Exchange) -> None:
        caller = await self._caller(exchange, "inference")
        data = self._catalog.listing(self._table.replicas, caller)
        await exchange.answer(json.dumps({"object": "list", "data": data}).encode())

    async def _one_model(self, exchange: Exchange) -> None:
        asked = exchange.path.removeprefix(MODELS + "/")
        caller = await self._caller(exchange, "inference")
        entries = self._catalog.listing(self._table.replicas, caller)
        entry = next((entry for entry in entries if entry["id"] == asked), None)
        if entry is None:
            raise UnknownModel(asked[:128], self._catalog.names_for(caller))
        await exchange.answer(json.dumps(entry).encode())

    async def _usage(self, exchange: Exchange) -> None:
        caller = await self._caller(exchange, "usage")
        await answer_usage(exchange, caller, self._governance.reports)

    async def _batches(self, exchange: Exchange) -> None:
        caller = await self._caller(exchange, "batch")
        if self._governance.desk is None:
            raise BatchesNotKept
        await self._governance.desk.answer(exchange, caller)

    def families(self, gateway: str) -> list[Metric]:
        """Returns this replica's metrics, labelled with its id, with the pools as they are now."""
        self._metrics.ready.clear()
        for name, model in self._catalog.settings.models.items():
            replicas = self._table.replicas(name)
            for market in model.markets:
                count = sum(replica.market == market for replica in replicas)
                self._metrics.ready.labels(name, market).set(count)
        return self._metrics.families(gateway)


def _allow(exchange: Exchange, *methods: str) -> None:
    if exchange.method not in methods:
        raise MethodNotAllowed(exchange.method, exchange.path, methods)


def _unpredicted(_text: str) -> int:
    return DEFAULT_OUTPUT_TOKENS


def _log_fault(request_id: str, error: Exception) -> None:
    """Logs a fault without its message: other libraries' messages may repeat the prompt."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    extra = {"request_id": request_id, "error": type(error).__name__, "stack": stack}
    log.error("gateway_fault", extra=extra)
