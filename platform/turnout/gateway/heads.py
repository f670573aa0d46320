"""Writes the heads of answers for uvicorn: one look at a whole head, not two at every header."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BODILESS = (204, 304)


class Reply:
    """uvicorn's `send` of one request, but for the head."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._send: Callable[[Any], Awaitable[None]] = cycle.send

    async def __call__(self, message: Any) -> None:
        """Sends a message; raises RuntimeError where a header would break the head's lines."""
        cycle = self._cycle
        if message["type"] != "http.response.start" or cycle.response_started or cycle.access_log:
            return await self._send(message)
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if not cycle.disconnected:
            head = self._head(message["status"], message.get("headers", ()))
            cycle.response_started, cycle.waiting_for_100_continue = True, False
            cycle.transport.write(head)
        return None

    def _head(self, status: int, headers: Any) -> bytes:
        """Returns the head's bytes; the cycle learns how its body will be framed."""
        cycle = self._cycle
        lines, says_close = [STATUS_LINE[status]], False
        for name, value in (*cycle.default_headers, *headers):
            lines.append(b"%b: %b\r\n" % (name, value))
            if name == b"content-length":
                cycle.expected_content_length, cycle.chunked_encoding = int(value), False
            elif name == b"transfer-encoding" and value.lower() == b"chunked":
                cycle.expected_content_length, cycle.chunked_encoding = 0, True
            elif name == b"connection" and b"close" in value.lower():
                cycle.keep_alive, says_close = False, True
        if not (cycle.keep_alive or says_close):
            lines.append(b"connection: close\r\n")
        has_body = cycle.scope["method"] != "HEAD" and status not in _BODILESS
        if cycle.chunked_encoding is None and has_body:
            cycle.chunked_encoding = True
            lines.append(b"transfer-encoding: chunked\r\n")
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise RuntimeError("a header of this answer holds the end of a line")
        if _CONTROLS.search(head):
            raise RuntimeError("a header of this answer holds a control character")
        return head + b"\r\n"
