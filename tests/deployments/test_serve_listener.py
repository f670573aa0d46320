"""The server that Serve starts in a gateway replica: bounds on its clients, and whom it asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from ray.serve._private.http_util import start_asgi_http_server
from ray.serve.config import HTTPOptions
from uvicorn.config import HTTP_PROTOCOLS

from turnout.cluster.ray_head import free_port
from turnout_deployments.serve_listener import ServeHttp, guard_serve_listener


def answering(name: str) -> Any:
    """Returns an app that answers every request with its own name."""

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        headers = [(b"x-app", name.encode())]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body"})

    return app


@asynccontextmanager
async def serves_own_server(root_path: str = "") -> AsyncIterator[tuple[str, int]]:
    """Starts what Serve starts; yields its address."""
    guard_serve_listener()
    host, port = "127.0.0.1", free_port()
    options = HTTPOptions(host=host, port=port, root_path=root_path)
    loop = asyncio.get_running_loop()
    task, server = await start_asgi_http_server(answering("serve"), options, event_loop=loop)
    try:
        async with asyncio.timeout(20):
            while not server.started:
                await asyncio.sleep(0.01)
        yield host, port
    finally:
        server.should_exit = True
        await task


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HTTP_PROTOCOLS, "auto", HTTP_PROTOCOLS["auto"])
    monkeypatch.setattr(ServeHttp, "ingress", None)


async def test_serves_own_server_refuses_a_head_without_end() -> None:
    async with serves_own_server() as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).split()[1] == b"204"
        writer.write(b"GET /" + b"a" * (1 << 20))
        assert (await reader.readline()).split()[1] == b"431"
        writer.close()


@pytest.mark.parametrize("root_path", ["", "/llm"])
async def test_an_ingress_is_asked_without_serves_middlewares_but_for_serves_own_paths(
    monkeypatch: pytest.MonkeyPatch, root_path: str
) -> None:
    async with serves_own_server(root_path) as (host, port), httpx.AsyncClient() as client:

        async def asked(path: str) -> tuple[str, bool]:
            answer = await client.get(f"http://{host}:{port}{path}")
            return answer.headers["x-app"], "x-request-id" in answer.headers

        assert await asked("/v1/models") == ("serve", True)
        monkeypatch.setattr(ServeHttp, "ingress", staticmethod(answering("gateway")))
        assert await asked("/v1/models") == ("gateway", False)
        assert await asked("/-/healthz") == ("serve", True)
