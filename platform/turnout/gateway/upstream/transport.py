"""Sends requests to upstreams: HTTP/1.1 with TLS, over aiohttp (decision 0009)."""

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime

import aiohttp

from turnout.config.settings import ModelSettings
from turnout.gateway.replicas import Replica
from turnout.gateway.request import endpoint_of
from turnout.gateway.transport import Answer, AnswerBroken, ReplicaBusy, ReplicaUnreachable
from turnout.gateway.upstream.endpoint import UpstreamEndpoint
from turnout.gateway.upstream.inbound import SSE, Events, whole
from turnout.gateway.upstream.outbound import Outbound, outbound
from turnout.gateway.upstream.refusal import TOO_MANY, refusal, retry_after_s

log = logging.getLogger(__name__)
JSON = "application/json"
MOST_ERROR_BYTES = 65_536
KEEP_ALIVE_S = 15.0
Told = tuple[int, str, AsyncGenerator[bytes]]
"""An answer's status, its content type and its body."""
_BROKEN = (aiohttp.ClientError, OSError, TimeoutError)


class UpstreamTransport:
    """Speaks to every upstream of the settings; they share one pool of connections."""

    def __init__(self, gateways: Callable[[], int] = lambda: 1) -> None:
        """`gateways` tells how many gateways share an upstream's rates and places."""
        self.gateways = gateways
        self.endpoints: Mapping[str, UpstreamEndpoint] = {}
        self._session: aiohttp.ClientSession | None = None

    def configure(self, models: Mapping[str, ModelSettings]) -> None:
        """Takes the upstreams for the requests to come; one that did not change keeps its rates."""
        before, now = self.endpoints, {}
        for name, model in models.items():
            if model.upstream is not None:
                known = before.get(name)
                is_same = known is not None and known.settings == model.upstream
                now[name] = known if known and is_same else UpstreamEndpoint(name, model.upstream)
        self.endpoints = now

    @asynccontextmanager
    async def send(self, replica: Replica, path: str, body: bytes) -> AsyncIterator[Answer]:
        """Yields the answer; leaving early closes the connection: the upstream may stop its work.

        Raises `ReplicaUnreachable`, or `ReplicaBusy` where the upstream takes no more for now.
        """
        endpoint, kind = self.endpoints.get(replica.model), endpoint_of(path)
        if endpoint is None or kind is None:
            raise ReplicaUnreachable(replica.id, "not configured")
        key = endpoint.key.key()
        if key is None and endpoint.key.is_needed:
            raise ReplicaUnreachable(replica.id, "no key")
        sent = outbound(endpoint.settings, kind, body)
        wait_s = endpoint.rates.wait_s(sent.tokens, self.gateways(), time.monotonic())
        if wait_s:
            raise ReplicaBusy(replica.id, wait_s, is_own_rate=True)
        response = await self._post(replica, endpoint, endpoint.url(kind), sent, key)
        try:
            status, kind_of_body, body_of = await _answer(replica.id, endpoint, response, sent, key)
            async with aclosing(body_of) as chunks:
                yield Answer(status, kind_of_body, chunks)
        finally:
            response.close()  # nothing to a connection whose answer was read whole

    async def _post(
        self,
        replica: Replica,
        endpoint: UpstreamEndpoint,
        url: str,
        sent: Outbound,
        key: str | None,
    ) -> aiohttp.ClientResponse:
        settings = endpoint.settings
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=settings.connect_timeout_s, sock_read=settings.answer_timeout_s
        )
        try:
            return await self._open().post(
                url,
                data=sent.body,
                headers=endpoint.headers(key),
                timeout=timeout,
                allow_redirects=False,
                ssl=endpoint.tls or True,
            )
        except _BROKEN as error:
            raise ReplicaUnreachable(replica.id, type(error).__name__) from None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"user-agent": "turnout"},
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        """Closes every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _answer(
    replica_id: str,
    endpoint: UpstreamEndpoint,
    response: aiohttp.ClientResponse,
    sent: Outbound,
    key: str | None,
) -> Told:
    """Returns the answer as an engine here would give it."""
    if response.status != 200:
        return await _refused(replica_id, endpoint, response, key)
    if sent.is_stream:
        return 200, SSE, _events(replica_id, response, Events(endpoint.model))
    try:
        data = whole(await response.read(), endpoint.model)
    except _BROKEN as error:
        raise AnswerBroken(replica_id, type(error).__name__) from None
    if data is None:
        raise AnswerBroken(replica_id, "no answer")
    return 200, JSON, _once(data)


async def _refused(
    replica_id: str, endpoint: UpstreamEndpoint, response: aiohttp.ClientResponse, key: str | None
) -> Told:
    status = response.status
    log.warning("upstream_refused", extra={"replica": replica_id, "status": status})
    if status == TOO_MANY:
        wait_s = retry_after_s(response.headers.get("retry-after"), datetime.now(UTC))
        raise ReplicaBusy(replica_id, wait_s)
    if status in (401, 403):
        endpoint.key.forget()
    try:
        body = await response.content.read(MOST_ERROR_BYTES)
    except _BROKEN:
        body = b""
    told = refusal(status, body, key)
    return told.status, JSON, _once(told.body)


async def _events(
    replica_id: str, response: aiohttp.ClientResponse, events: Events
) -> AsyncGenerator[bytes]:
    try:
        async for data in response.content.iter_any():
            if rewritten := events.feed(data):
                yield rewritten
    except _BROKEN as error:
        raise AnswerBroken(replica_id, type(error).__name__) from None
    if rest := events.end():
        yield rest


async def _once(data: bytes) -> AsyncGenerator[bytes]:
    yield data
