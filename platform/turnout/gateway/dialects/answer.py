"""What translators of answers share: reading an engine's answer, writing events. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.gateway.errors import EngineRefused, RequestError
from turnout.gateway.resume.chunk import Chunk

COMMENT = b":"


def event(kind: str, fields: Mapping[str, Any]) -> bytes:
    """Returns a named event whose data repeats its name as `type`, as both vendors write it."""
    data = msgspec.json.encode({"type": kind, **fields})
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


def bare_id(engine_id: str) -> str:
    """Returns what is unique of an engine's id."""
    return engine_id.rpartition("chatcmpl-")[2]


def reasoning_of(said: Mapping[str, Any]) -> str:
    """Returns the reasoning of a message, by either of the names that engines use."""
    return said.get("reasoning") or said.get("reasoning_content") or ""


def error_of(chunk: Chunk) -> RequestError:
    """Returns the error that an engine tells in its stream."""
    status = chunk.error_status or 500
    kind = "invalid_request_error" if status < 500 else "server_error"
    return EngineRefused(status, chunk.error_message, kind, None)
