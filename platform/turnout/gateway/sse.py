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


@dataclass(frozen=True)
class Usage:
    """Token counts of one answer, as the engine reports them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0

    @classmethod
    def of(cls, answer: Any) -> "Usage | None":
        """Reads the `usage` of an answer or chunk; None when it has none."""
        usage = answer.get("usage") if isinstance(answer, dict) else None
        if not isinstance(usage, dict):
            return None
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
        return cls(*(count if isinstance(count, int) else 0 for count in counts))


def usage_of(event: bytes) -> Usage | None:
    """Returns the usage if this is the stream's usage event (no choices), else None."""
    # Cheap test first: this runs for every token of every stream.
    if b'"choices":[]' not in event or not event.startswith(b"data: "):
        return None
    try:
        chunk = json.loads(event[len(b"data: ") :])
    except ValueError:
        return None
    return Usage.of(chunk) if chunk.get("choices") == [] else None


def error_event(body: dict[str, Any]) -> bytes:
    """Returns an error as the event that ends a broken stream."""
    return b"data: " + json.dumps(body).encode() + _END
