"""The mock on its socket: HTTP/1.1 read by httptools, one connection object per client."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import sys
import zlib
from time import perf_counter_ns
from typing import Any, cast

import httptools
import msgspec
import uvloop

from turnout_load.errors import BadOption
from turnout_load.mock.answer import Request, answer
from turnout_load.mock.ask import decode_ask
from turnout_load.mock.engine import Engine
from turnout_load.mock.faults import PREFIX, faulty_answer, refusal
from turnout_load.mock.pacer import Pacer
from turnout_load.mock.player import Player
from turnout_load.mock.script import End, Script, Step, whole
from turnout_load.mock.settings import MockSettings
from turnout_load.mock.truth import Truth

ASKED = {b"/v1/chat/completions": True, b"/v1/completions": False}
"""Whether a path is chat's."""


class Mock:
    """What the connections share."""

    def __init__(self, settings: MockSettings, loop: asyncio.AbstractEventLoop) -> None:
        self.pacer = Pacer(loop, settings.exact_up_to)
        self.truth = Truth()
        self._settings = settings
        self._engine = Engine(settings)
        self._numbers = itertools.count(1)

    def script(self, method: bytes, path: bytes, body: bytes, now_ns: int) -> Script:
        """Returns the answer to a request that has arrived now."""
        if path in ASKED:
            if method != b"POST":
                return refusal(405, "POST is what this path takes")
            self.truth.arrived(now_ns)
            return self._answer(ASKED[path], body, now_ns)
        return self._told(method, path)

    def _answer(self, is_chat: bool, body: bytes, now_ns: int) -> Script:
        try:
            ask = decode_ask(body)
        except msgspec.DecodeError as wrong:
            return refusal(400, str(wrong).replace('"', "'"))
        identity = f"mock-{next(self._numbers):016x}"
        headers = (f"x-request-id: {identity}", *self._model_header(body))
        request = Request(ask, is_chat, identity, headers)
        make = faulty_answer if ask.model.startswith(PREFIX) else answer
        return make(request, self._engine.admit(ask, now_ns))

    def _model_header(self, body: bytes) -> tuple[str, ...]:
        models = self._settings.models
        return (f"x-turnout-model: {models[zlib.crc32(body) % len(models)]}",) if models else ()

    def _told(self, method: bytes, path: bytes) -> Script:
        match method, path:
            case b"GET", b"/truth":
                return _json(self.truth.as_json())
            case b"POST", b"/truth/reset":
                self.truth = Truth()
                return _json({})
            case b"GET", b"/health":  # as vLLM's server; routers ask for it
                return _json({})
            case b"GET", b"/v1/models":
                names = self._settings.models or ("mock",)
                models = [
                    {"id": name, "object": "model", "created": 0, "owned_by": "mock"}
                    for name in names
                ]
                return _json({"object": "list", "data": models})
        return refusal(404, "no such path")


def _json(value: Any) -> Script:
    return Script((Step(0, whole(200, msgspec.json.encode(value))),))


class Connection(asyncio.Protocol):
    """One client's connection, for one request at a time: no pipelining."""

    def __init__(self, mock: Mock) -> None:
        self._mock = mock
        self._parser = httptools.HttpRequestParser(self)
        self._path = b""
        self._body: list[bytes] = []
        self._received_ns = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport to answer on."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Reads bytes as they come; what is not HTTP is refused."""
        self._received_ns = perf_counter_ns()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._transport.write(refusal(400, "this is not HTTP/1.1").steps[0].data)
            self._transport.close()

    def on_url(self, url: bytes) -> None:
        """Keeps the path; the parser calls it."""
        self._path += url

    def on_body(self, body: bytes) -> None:
        """Keeps a part of the body; the parser calls it."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Answers; the parser calls it."""
        path, body = self._path.partition(b"?")[0], b"".join(self._body)
        self._path, self._body = b"", []
        script = self._mock.script(self._parser.get_method(), path, body, self._received_ns)
        if not self._parser.should_keep_alive() and script.end is End.KEEP:
            script = script._replace(end=End.CLOSE)
        truth = self._mock.truth if path in ASKED else Truth()
        player = Player(script, self._transport, self._received_ns, truth)
        player.play(self._mock.pacer, self._ended)

    def _ended(self, end: End) -> None:
        if end is End.CLOSE:
            self._transport.close()


async def listen(settings: MockSettings) -> asyncio.Server:
    """Starts the mock in this event loop; raises `BadOption` where its port is taken."""
    loop = asyncio.get_running_loop()
    mock = Mock(settings, loop)
    try:
        return await loop.create_server(
            lambda: Connection(mock), settings.host, settings.port, backlog=4096
        )
    except OSError as taken:
        where = f"{settings.host}:{settings.port}"
        raise BadOption("--port", where, f"a free port ({taken.strerror})") from taken


async def serve(settings: MockSettings) -> None:
    """Says where it listens in one line of JSON, and serves until SIGINT or SIGTERM."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    server = await listen(settings)
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(json.dumps({"url": f"http://{settings.host}:{port}/v1", "port": port}) + "\n")
    sys.stdout.flush()
    await stopped.wait()
    server.close()


def run(settings: MockSettings) -> None:
    """Serves in an event loop of its own."""
    uvloop.run(serve(settings))
