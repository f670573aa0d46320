"""One HTTP/1.1 connection to a replica: a request out, its answer in, byte by byte as it comes."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import httptools

MOST_WAITING_BYTES = 1 << 20
"""Unread bytes of an answer from which the replica is made to wait: a slow client costs no more."""


class ConnectionBroken(Exception):
    """The connection ended, or spoke no HTTP, before an answer was whole."""


class Connection(asyncio.Protocol):
    """Sends one request at a time; `httptools` parses what comes back."""

    def __init__(self) -> None:
        self.requests = 0
        """Requests sent so far."""
        self.is_whole = True
        """Whether the last answer has come to its end."""
        self.has_answer = False
        """Whether any byte of an answer to the last request has come."""
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._problem: str | None = None
        self._is_paused = False
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._waiting_bytes = 0
        self._keeps_alive = True
        self.has_head = False
        self.status = 0
        self.headers: dict[bytes, bytes] = {}

    @property
    def can_be_reused(self) -> bool:
        """Whether another request may go over it now."""
        is_ready = self.is_whole and not self._is_paused and self._keeps_alive
        return is_ready and not self.is_closed and self._problem is None

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended."""
        return self._transport is None or self._transport.is_closing()

    def send(self, request: bytes) -> None:
        """Sends a whole request; raises `ConnectionBroken` when the connection has ended."""
        if self._problem is not None or self._transport is None:
            raise ConnectionBroken(self._problem or "not connected")
        if self.requests:
            self._begin()
        self.requests += 1
        self.is_whole = self.has_answer = False
        self._transport.write(request)

    async def head(self) -> None:
        """Waits for the answer's status and headers; raises `ConnectionBroken`."""
        while not self.has_head:
            await self._more()

    async def chunk(self) -> bytes:
        """Returns all that has come of the answer's body, empty at its end.

        Raises `ConnectionBroken`.
        """
        while not self._parts:
            if self.is_whole:
                return b""
            await self._more()
        return self._taken()

    async def rest(self) -> bytes:
        """Returns what is left of the body; raises `ConnectionBroken`."""
        parts = []
        while part := await self.chunk():
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Ends the connection: a replica that still answers stops its work."""
        if self._transport is not None:
            self._transport.abort()

    def _taken(self) -> bytes:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts, self._waiting_bytes = [], 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    async def _more(self) -> None:
        if self._problem is not None:
            raise ConnectionBroken(self._problem)
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class

    def data_received(self, data: bytes) -> None:
        """Parses what came, then wakes the reader once."""
        if self.is_whole:  # nobody asked for it: a server that gives up on an idle connection
            self._problem = "unasked bytes"
            self.close()
            return
        self.has_answer = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._problem = "not HTTP"
            self.close()
        if self._waiting_bytes > MOST_WAITING_BYTES and not self._is_paused:
            self._is_paused = True
            if self._transport is not None and not self._transport.is_closing():
                self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Lets the transport close itself."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends an answer that had no length, and breaks any other that was not whole."""
        if not self.is_whole and self.has_head and self._ends_with_connection:
            self.is_whole = True
        self._problem = self._problem or (type(exc).__name__ if exc else "closed")
        self._wake()

    @property
    def _ends_with_connection(self) -> bool:
        headers = self.headers
        return b"content-length" not in headers and b"transfer-encoding" not in headers

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps a header."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Notes the status; informational answers (1xx) are passed over."""
        status = self._parser.get_status_code()
        if status < 200:
            self.headers = {}
            return
        self.status, self.has_head = status, True
        self._keeps_alive = self._parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        """Keeps a piece of the body."""
        self._parts.append(data)
        self._waiting_bytes += len(data)

    def on_message_complete(self) -> None:
        """Ends the answer."""
        if self.has_head:
            self.is_whole = True


async def connect(host: str, port: int, timeout_s: float, **more: Any) -> Connection:
    """Opens a connection; raises OSError or TimeoutError."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(timeout_s):
        _, connection = await loop.create_connection(Connection, host, port, **more)
    return connection
