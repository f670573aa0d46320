"""One HTTP/1.1 connection: requests go out as bytes, answers come back stamped with their arrival.

Written for measuring: an arrival is stamped before anything is parsed, and a request costs no
task, no timer and no object beside its own. httptools does the parsing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol, cast

import httptools

now_ns = time.perf_counter_ns

MOST_BYTES = 64 * 2**20
"""Of an answer that is not streamed, or of one event of a stream: a larger one is a failure."""


class Answer(Protocol):
    """What takes an answer's parts as they arrive; times are `now_ns()`."""

    held_bytes: int
    """What it keeps of the body because it cannot be read before more has come."""

    def on_headers(self, status: int, headers: dict[bytes, bytes], at_ns: int) -> None:
        """Takes the status and the headers, names in lower case."""

    def on_body(self, data: bytes, at_ns: int) -> None:
        """Takes a piece of the body."""

    def on_end(self, at_ns: int) -> None:
        """The answer has come whole."""

    def on_failure(self, kind: str, detail: str, at_ns: int) -> None:
        """The answer will not come whole."""


class Connection(asyncio.Protocol):
    """A connection that carries one request at a time."""

    def __init__(self, released: Callable[[Connection], None]) -> None:
        self._released = released
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._headers: dict[bytes, bytes] = {}
        self._at_ns = 0
        self._parser = httptools.HttpResponseParser(self)
        self._length_known = True
        self._is_interim = False
        self.answered = 0
        """Requests answered so far: one that fails on a used connection may be the server's \
closing it while idle."""
        self.is_open = False

    def send(self, payload: bytes, answer: Answer) -> int:
        """Writes a request; returns when, in nanoseconds. The connection must be idle."""
        assert self._transport is not None
        self._answer = answer
        at_ns = now_ns()
        self._transport.write(payload)
        return at_ns

    def close(self) -> None:
        """Closes the connection; an answer under way hears nothing more of it."""
        self._answer = None
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Stamps the arrival, then parses."""
        self._at_ns = now_ns()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as wrong:
            self._fail("bad_http", f"the server's answer is not HTTP/1.1: {wrong}")

    def connection_lost(self, exc: Exception | None) -> None:
        """Tells the answer under way: an end without a length is an end, anything else is not."""
        self.is_open = False
        self._at_ns = now_ns()
        if self._answer is not None and not self._length_known:
            self.on_message_complete()
        elif self._answer is not None:
            cause = f": {exc}" if exc else ""
            self._fail("closed", f"the server closed the connection before its answer ended{cause}")
        else:
            self._released(self)

    # httptools' side

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collects a header."""
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Hands status and headers on."""
        headers, self._headers = self._headers, {}
        self._is_interim = self._parser.get_status_code() < 200  # such as 103: the answer follows
        if self._is_interim:
            return
        self._length_known = b"content-length" in headers or b"transfer-encoding" in headers
        if self._answer is not None:
            self._answer.on_headers(self._parser.get_status_code(), headers, self._at_ns)

    def on_body(self, body: bytes) -> None:
        """Hands a piece of the body on."""
        if self._answer is None:
            return
        self._answer.on_body(body, self._at_ns)
        if self._answer.held_bytes > MOST_BYTES:
            status, most = self._parser.get_status_code(), MOST_BYTES // 2**20
            self._fail("too_large", f"status {status}, and more than {most} MiB in one piece")

    def on_message_complete(self) -> None:
        """Ends the answer and frees the connection."""
        if self._is_interim:
            return
        answer, self._answer = self._answer, None
        self.answered += 1
        if not self._parser.should_keep_alive():
            self.close()
        if answer is not None:
            answer.on_end(self._at_ns)
        self._released(self)

    def _fail(self, kind: str, detail: str) -> None:
        answer = self._answer
        self.close()
        if answer is not None:
            answer.on_failure(kind, detail, self._at_ns)
        self._released(self)
