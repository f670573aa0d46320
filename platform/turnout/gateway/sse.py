"""Server-sent events as vLLM writes them: split a byte stream into events, find the usage. Pure."""

import json
from dataclasses import dataclass
from typing import Any

DONE = b"data: [DONE]\n\n"
_END = b"\n\n"


class EventSplitter:
    """Cuts a stream of chunks into whole events, whatever the chunks' borders."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Returns the events that this chunk completes, each with its blank line."""
        *events, self._rest = (self._rest + chunk).split(_END)
        return [event + _END for event in events]

    @property
    def rest(self) -> bytes:
        """What has come of an event that is not whole yet."""
        return self._rest


@dataclass(frozen=True)
class Usage:
    """Token counts of one answer, as the engine reports them."""

    prompt_tokens: int
    completion_tokens: int

    @classmethod
    def of(cls, answer: dict[str, Any]) -> "Usage | None":
        """Reads the `usage` of an answer or chunk; None when it has none."""
        usage = answer.get("usage")
        if not isinstance(usage, dict):
            return None
        return cls(int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0))


def usage_of(event: bytes) -> Usage | None:
    """Returns the usage if this is the stream's usage event (no choices), else None."""
    # Cheap test first: this runs for every token of every stream.
    if b'"choices":[]' not in event or not event.startswith(b"data: "):
        return None
    chunk = json.loads(event[len(b"data: ") :])
    return Usage.of(chunk) if not chunk["choices"] else None


def error_event(body: dict[str, Any]) -> bytes:
    """Returns an error as the event that ends a broken stream."""
    return b"data: " + json.dumps(body).encode() + _END
