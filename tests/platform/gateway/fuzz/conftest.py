"""The gateway on a real port in a thread of its own, for clients that mean no good."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import uvloop
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import (
    MODELS,
    FakeTable,
    difficulty,
    eventually,
    new_gateway,
    serving,
    settings,
)

from turnout.gateway.listener import Bounds, GuardedHttp
from turnout.gateway.replicas import Replica
from turnout.gateway.transport import DirectTransport

PASSED_ON = ["top_k", "chat_template_kwargs", "structured_outputs", "add_generation_prompt"]
BODY_TIMEOUT_S, MOST_BYTES = 0.5, 1 << 20
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
PATIENCE_S = 10.0


class Hasty(GuardedHttp):
    """The guard, in a hurry."""

    bounds = Bounds(head_s=0.4, unread_s=0.8)


class ModestEngine(FakeEngine):
    """Takes a null for no wish, as vLLM does, and makes few answers."""

    async def _respond(self, path: str, body: dict[str, Any], send: Any) -> None:
        await super()._respond(path, {**body, "n": min(body.get("n") or 1, 3)}, send)


class Served:
    """One gateway over two engines, until `close`."""

    def __init__(self) -> None:
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._is_up.wait(PATIENCE_S)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with AsyncExitStack() as stack:
            table, transport = FakeTable(), DirectTransport()
            stack.push_async_callback(transport.close)
            for name in ("small", "large"):
                self.engine = ModestEngine(name)
                at = await stack.enter_async_context(serving(self.engine))
                table.by_model[name] = [Replica(name, name, "reserved", at, 32768)]
            gateway = new_gateway(table, transport)
            limits = {"max_body_bytes": MOST_BYTES, "body_timeout_s": BODY_TIMEOUT_S}
            small = {**MODELS["small"], "capabilities": ["chat", "completions", "embeddings"]}
            models = {**MODELS, "small": small}
            gateway.configure(
                settings(models=models, limits=limits, engine_fields=PASSED_ON), difficulty
            )
            self.url = await stack.enter_async_context(serving(gateway, http=Hasty))
            self.address = (urlsplit(self.url).hostname, urlsplit(self.url).port)
            self._tasks_at_rest = len(asyncio.all_tasks())
            self._is_up.set()
            await self._end.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE_S)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=PATIENCE_S)

    def ask(self, data: bytes, *, ends: bool = False) -> bytes:
        """Sends bytes and returns all that comes until the server closes; `ends` closes our side.

        Fails when the server neither answers nor closes.
        """
        with self.connect() as sock:
            with suppress(OSError):  # it may close before all is sent
                sock.sendall(data)
                if ends:
                    sock.shutdown(socket.SHUT_WR)
            return rest_of(sock)

    def check_at_rest(self) -> None:
        """Fails unless every connection and task of the gateway ends."""
        self.wait_until(
            lambda: (
                not self.connections()
                and len(asyncio.all_tasks(self._loop)) <= self._tasks_at_rest + 1
            )
        )

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Fails unless something comes true on the gateway's loop."""
        found = asyncio.run_coroutine_threadsafe(eventually(holds), self._loop)
        found.result(PATIENCE_S)

    def connections(self) -> int:
        """Returns how many clients the gateway's process holds a connection for."""
        port = self.address[1]
        return sum(
            each.laddr.port == port and each.status != psutil.CONN_LISTEN
            for each in psutil.Process().net_connections("tcp4")
            if each.laddr and each.fd != -1
        )


def rest_of(sock: socket.socket) -> bytes:
    """Returns what comes until the other side closes."""
    parts = []
    with suppress(ConnectionResetError):
        while part := sock.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def statuses(answer: bytes) -> list[int]:
    """Returns the statuses of the answers in what came."""
    return [int(status) for status in STATUS.findall(answer)]


def drip(sock: socket.socket, data: bytes, pause_s: float = 0.02) -> None:
    """Sends byte by byte for as long as the other side takes it."""
    with suppress(BrokenPipeError, ConnectionResetError):
        for byte in data:
            sock.send(bytes((byte,)))
            time.sleep(pause_s)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.check_at_rest()
    served.close()
