"""The server that Serve starts in a gateway replica keeps the bounds on clients, too."""

import asyncio
from typing import Any

import pytest
from ray.serve._private.http_util import start_asgi_http_server
from ray.serve.config import HTTPOptions
from uvicorn.config import HTTP_PROTOCOLS

from turnout.cluster.ray_head import free_port
from turnout_deployments.serve_listener import guard_serve_listener


async def app(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def test_serves_own_server_refuses_a_head_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(HTTP_PROTOCOLS, "auto", HTTP_PROTOCOLS["auto"])  # as before, afterwards
    guard_serve_listener()
    options = HTTPOptions(host="127.0.0.1", port=free_port())
    loop = asyncio.get_running_loop()
    task, server = await start_asgi_http_server(app, options, event_loop=loop)
    try:
        async with asyncio.timeout(20):
            while not server.started:
                await asyncio.sleep(0.01)
            reader, writer = await asyncio.open_connection(options.host, options.port)
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).split()[1] == b"204"
            writer.write(b"GET /" + b"a" * (1 << 20))
            assert (await reader.readline()).split()[1] == b"431"
            writer.close()
    finally:
        server.should_exit = True
        await task
