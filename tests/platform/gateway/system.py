"""The gateway served for real on a port, over fake engines on ports of their own."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import uvicorn
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from turnout.config.settings import GatewaySettings
from turnout.gateway.app import Gateway, Governance
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.replicas import Replica
from turnout.gateway.transport import DirectTransport

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
HI = [{"role": "user", "content": "easy: say hi"}]
ROUTER = {"tiers": ["small", "large"], "good_enough": {"small": 0.6}}
MODELS: dict[str, Any] = {
    "small": {
        "application": "small",
        "tier": "small",
        "pools": ["reserved", "spot"],
        "aliases": ["tiny"],
    },
    "large": {
        "application": "large",
        "tier": "large",
        "pools": ["reserved"],
        "capabilities": ["chat", "completions", "tools", "json_schema", "logprobs"],
    },
}


def settings(**changes: Any) -> GatewaySettings:
    """Returns the tests' settings, in which nobody waits for a replica that is not there."""
    failover = {"wait_for_replica_s": 0, **changes.pop("failover", {})}
    fields = {"models": MODELS, "router": ROUTER, "failover": failover, **changes}
    return GatewaySettings.model_validate(fields)


def difficulty(text: str) -> float:
    """Judges as a tokenizer would: only whole Unicode text can be read."""
    text.encode()
    return 0.9 if "easy" in text else 0.1


class FakeTable:
    """A replica table whose replicas a test sets."""

    def __init__(self) -> None:
        self.by_model: dict[str, list[Replica]] = {}

    def replicas(self, model: str) -> Sequence[Replica]:
        return tuple(self.by_model.get(model, ()))


@asynccontextmanager
async def serving(app: Any, **more: Any) -> AsyncIterator[str]:
    """Serves an ASGI app on a free port of this machine; yields its URL. `more` is uvicorn's.

    uvicorn's own start and stop poll ten times a second: too slow for hundreds of tests.
    """
    sock = socket.create_server(("127.0.0.1", 0), backlog=512)
    config = uvicorn.Config(app, lifespan="off", log_level="warning", access_log=False, **more)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[sock])
    try:
        yield "http://{}:{}".format(*sock.getsockname())
    finally:
        for listener in server.servers:
            listener.close()
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        if server.server_state.tasks:
            await asyncio.wait(server.server_state.tasks, timeout=2)
        await asyncio.sleep(0)


@dataclass
class System:
    """One gateway over its table; `start` engines beside it with `add`."""

    gateway: Gateway
    table: FakeTable
    client: httpx.AsyncClient
    url: str
    start: Callable[[Any], Any]
    engines: dict[str, Any] = field(default_factory=dict)

    async def add(
        self, engine: Any, market: str = "reserved", window: int = 2048, name: str = ""
    ) -> Any:
        """Starts an engine and lists it as a ready replica of its model."""
        return self.add_at(await self.start(engine), engine, market, window, name)

    def add_at(self, url: str, engine: Any, market: str, window: int, name: str = "") -> Any:
        replica_id = name or f"{engine.model}-{len(self.engines)}"
        replica = Replica(replica_id, engine.model, market, url, window)
        self.table.by_model.setdefault(engine.model, []).append(replica)
        self.engines[replica_id] = engine
        return engine

    def configure(self, **changes: Any) -> None:
        self.gateway.configure(settings(**changes), difficulty)

    def govern(self, governance: Governance) -> None:
        """Puts keys, limits or a ledger in place for the requests to come."""
        self.gateway._governance = governance

    async def post(self, body: Any, path: str = CHAT, **more: Any) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.client.post(path, content=content, **more)

    async def chat(self, model: str = "small", **fields: Any) -> httpx.Response:
        return await self.post({"model": model, "messages": HI, **fields})

    @asynccontextmanager
    async def streaming(self, model: str = "small", **fields: Any) -> AsyncIterator[Any]:
        body = {"model": model, "messages": HI, "stream": True, **fields}
        async with self.client.stream("POST", CHAT, json=body) as answer:
            yield answer

    async def leave(self, sent: bytes, waits_for: Callable[[], bool]) -> None:
        """Sends raw bytes on a connection of its own and closes it once `waits_for` holds."""
        _, writer = await self.connect(sent)
        await eventually(waits_for)
        writer.close()
        await writer.wait_closed()

    async def connect(self, sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        at = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(at.hostname, at.port)
        writer.write(sent)
        return reader, writer

    async def metric(self, sample_name: str, **labels: str) -> float:
        """Returns the sum of the samples with this name and these labels on the metrics page."""
        page = (await self.client.get("/metrics")).text
        return sum(
            sample.value
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.name == sample_name and labels.items() <= sample.labels.items()
        )

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs any more: no count, no gauge, no engine."""
        gauges = [
            sample.value
            for family in self.gateway.families("g")
            for sample in family.samples
            if sample.name == "turnout_requests_in_flight"
        ]
        counts = self.gateway._relay.balancer.running
        return not any((counts, *gauges, *(each.running for each in self.engines.values())))


def http_post(body: Any, path: str = CHAT) -> bytes:
    """Returns a POST as raw bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


def events_of(text: str) -> list[str]:
    """Returns the data of a stream's events."""
    return [line.removeprefix("data: ") for line in text.split("\n\n") if line]


async def eventually(holds: Callable[[], bool], within_s: float = 5.0) -> None:
    """Waits until something holds; fails when it never does."""
    for _ in range(int(within_s / 0.005)):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"not within {within_s} s")


def new_gateway(table: FakeTable, transport: DirectTransport) -> Gateway:
    async def own_metrics() -> Iterable[Iterable[Metric]]:
        return [gateway.families("g1")]

    gateway = Gateway(table, transport, GatewayMetrics(), own_metrics)
    gateway.configure(settings(), difficulty)
    return gateway
