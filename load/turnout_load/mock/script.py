"""A script: the bytes of an answer, each with its time. Playing it is the server's work."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
LAST_CHUNK = b"0\r\n\r\n"


class End(Enum):
    """What follows the last step."""

    KEEP = "the connection waits for the next request"
    CLOSE = "the connection is closed"
    HANG = "the connection stays open, and nothing more is said"


class Step(NamedTuple):
    """Bytes to write at a time."""

    offset_ns: int
    """From the arrival of the request's last byte."""
    data: bytes
    has_content: bool = False
    """Whether a client finds generated text in it."""


class Script(NamedTuple):
    """An answer from its first byte to its end."""

    steps: tuple[Step, ...]
    end: End = End.KEEP
    is_stream: bool = False


def head(status: int, content_type: str, *more: str) -> bytes:
    """Returns an answer's status line and headers, with its empty line."""
    lines = (f"HTTP/1.1 {status} {_REASONS.get(status, 'Mock')}", f"content-type: {content_type}")
    return "\r\n".join((*lines, *more, "", "")).encode()


def whole(status: int, body: bytes, *headers: str, content_type: str = "application/json") -> bytes:
    """Returns an answer with its length told."""
    return head(status, content_type, f"content-length: {len(body)}", *headers) + body


def chunk(data: bytes) -> bytes:
    """Returns `data` in the chunked transfer coding (RFC 9112, section 7.1)."""
    return b"%x\r\n%b\r\n" % (len(data), data)
