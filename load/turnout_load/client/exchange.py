"""One request's course: takes what a connection brings and fills the request's record."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from turnout_load.client.chunk import Chunk, Usage, decode
from turnout_load.client.sse import EventStream
from turnout_load.record import UNKNOWN, Record

MAX_DETAIL = 300


class Exchange:
    """Implements `connection.Answer`; keeps times from `origin_ns` on."""

    def __init__(
        self,
        record: Record,
        origin_ns: int,
        add_gap: Callable[[int], None],
        keeps_text: bool,
        ended: asyncio.Future[None],
    ) -> None:
        self.record = record
        self.heard_ns = 0
        """When the server last sent anything, as `now_ns()`."""
        self.held_bytes = 0
        self.text: list[str] | None = [] if keeps_text else None
        self.is_all_text = True
        """Whether a kept text is all that was generated: no reasoning, no calls of tools."""
        self._origin_ns = origin_ns
        self._add_gap = add_gap
        self._ended = ended
        self._events: EventStream | None = None
        self._whole: list[bytes] = []
        self._saw_done = False
        self._gaps: list[int] = []

    def on_headers(self, status: int, headers: dict[bytes, bytes], at_ns: int) -> None:
        """Takes the status and the names of model and request."""
        self.heard_ns = at_ns
        record = self.record
        record.status = status
        record.request_id = _clean(headers.get(b"x-request-id", b"").decode("utf-8", "replace"))
        if model := headers.get(b"x-turnout-model"):
            record.model = sys.intern(_clean(model.decode("utf-8", "replace")))
        if status == 200 and headers.get(b"content-type", b"").startswith(b"text/event-stream"):
            self._events = EventStream()

    def on_body(self, data: bytes, at_ns: int) -> None:
        """Takes the events that this piece completes; of whole answers, keeps the bytes."""
        self.heard_ns = at_ns
        if self._events is None:
            self._whole.append(data)
            self.held_bytes += len(data)
            return
        for event in self._events.feed(data):
            if event == b"[DONE]":
                self._saw_done = True
            elif not self.record.error:
                self._take(event, at_ns, "bad_sse")
        self.held_bytes = self._events.held_bytes

    def on_end(self, at_ns: int) -> None:
        """Judges whether the answer is whole."""
        record = self.record
        if record.status != 200:
            self._mark(f"http {record.status}", _error_text(b"".join(self._whole)))
        elif self._events is None:
            self._take(b"".join(self._whole), at_ns, "bad_json")
        if record.ok and not record.chunks and record.output_tokens <= 0:
            self._mark("no_content", "status 200, and nothing generated")
        if self._events and (self._events.has_rest or not self._saw_done):
            self._mark("bad_sse", "the stream ended without data: [DONE]")
        self._finish(at_ns)

    def on_failure(self, kind: str, detail: str, at_ns: int) -> None:
        """Ends the record with an error."""
        self._mark(kind, detail)
        self._finish(at_ns)

    def _finish(self, at_ns: int) -> None:
        self.record.end_ns = at_ns - self._origin_ns
        if self.record.ok:
            for gap_ns in self._gaps:
                self._add_gap(gap_ns)
        if not self._ended.done():
            self._ended.set_result(None)

    def _mark(self, kind: str, detail: str) -> None:
        if not self.record.error:
            self.record.error = sys.intern(kind)
            self.record.detail = _clean(detail)

    def _take(self, data: bytes, at_ns: int, wrong: str) -> None:
        try:
            chunk = decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
            self._mark(wrong, f"not a chunk of OpenAI's: {problem}")
            return
        if chunk.error:
            self._mark("error_event", str(_message(chunk.error)))
            return
        self._time(chunk, at_ns)
        if chunk.usage:
            self._count(chunk.usage)
        if chunk.model and not self.record.model:
            self.record.model = sys.intern(_clean(chunk.model))

    def _time(self, chunk: Chunk, at_ns: int) -> None:
        if not any(choice.has_content for choice in chunk.choices):
            return
        self.record.chunks += 1
        if self.text is not None:
            self.text.append(chunk.choices[0].content)
            self.is_all_text &= not any(choice.has_more for choice in chunk.choices)
        if self._events is not None:  # a whole answer has no first token that could be seen
            self._stamp(at_ns - self._origin_ns)

    def _stamp(self, arrived_ns: int) -> None:
        record = self.record
        if record.first_ns == UNKNOWN:
            record.first_ns = arrived_ns
        else:
            gap_ns = arrived_ns - record.last_ns
            self._gaps.append(gap_ns)
            record.longest_gap_ns = max(record.longest_gap_ns, gap_ns)
        record.last_ns = arrived_ns

    def _count(self, usage: Usage) -> None:
        record = self.record
        if usage.prompt_tokens is not None:
            record.input_tokens = usage.prompt_tokens
        if usage.completion_tokens is not None:
            record.output_tokens = usage.completion_tokens
        details = usage.prompt_tokens_details
        if details is not None and details.cached_tokens is not None:
            record.cached_tokens = details.cached_tokens


def _clean(text: str) -> str:
    """Returns a server's text fit for a terminal: one line, no control characters."""
    printable = "".join(each if each.isprintable() else " " for each in text[: 2 * MAX_DETAIL])
    return " ".join(printable.split())[:MAX_DETAIL]


def _error_text(body: bytes) -> str:
    """Returns OpenAI's error message, or the body's beginning."""
    try:
        return str(_message(msgspec.json.decode(body)["error"]))
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError):
        return body[:MAX_DETAIL].decode("utf-8", "replace")


def _message(error: Any) -> Any:
    return error.get("message", error) if isinstance(error, dict) else error
