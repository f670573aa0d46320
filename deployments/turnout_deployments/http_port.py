"""A replica's own HTTP port: an ASGI app served beside Ray, past its object streams."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from turnout.errors import TurnoutError
from turnout.gateway.listener import GuardedHttp

_BACKLOG = 2048


class NoFreePort(TurnoutError):
    """Every port of the configured range is taken on this node."""

    def __init__(self, host: str, low: int, high: int) -> None:
        super().__init__(host, low, high)
        self.host, self.low, self.high = host, low, high

    def __str__(self) -> str:
        return (
            f"no free port on {self.host} between {self.low} and {self.high}: "
            "widen http_port_range in the model's args or stop what holds them"
        )


def listen(host: str, ports: tuple[int, int] | None) -> socket.socket:
    """Returns a socket bound to `host`: the first free port of `ports` (inclusive), or any.

    Raises `NoFreePort`.
    """
    low, high = ports or (0, 0)
    for port in range(low, high + 1):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
        except OSError:
            sock.close()
            continue
        return sock
    raise NoFreePort(host, low, high)


class HttpPort:
    """Serves one ASGI app from a bound socket on the running event loop until `close`."""

    def __init__(self, app: Callable[..., Any], sock: socket.socket) -> None:
        host, port = sock.getsockname()[:2]
        self.address = f"http://{host}:{port}"
        self._sock = sock
        config = uvicorn.Config(
            app,
            http=GuardedHttp,
            log_level="warning",
            access_log=False,
            lifespan="off",
            proxy_headers=False,
            backlog=_BACKLOG,
        )
        self._server = uvicorn.Server(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins accepting connections; returns once the port answers."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._sock]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.01)
        if self._task.done():
            self._task.result()

    @property
    def is_serving(self) -> bool:
        """Whether the port still accepts requests."""
        return self._task is not None and not self._task.done()

    async def close(self) -> None:
        """Stops accepting, lets running requests finish, and frees the port."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
