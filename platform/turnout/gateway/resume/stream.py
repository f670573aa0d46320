"""Readers of engines' streams: what the client gets of each, and how far the answer has come.

`EngineStream` reads the stream that answers the client's own request and passes its events on.
`ContinuedStream` reads one that asks for the rest and writes events in the first one's shape.
Pure.
"""

from typing import Protocol

from turnout.gateway.resume.chunk import Author, Choice, Chunk, read, without_ids
from turnout.gateway.resume.progress import Progress
from turnout.gateway.resume.stop import StopScanner
from turnout.gateway.resume.template import Template, template_of
from turnout.gateway.sse import DONE, EventSplitter, Usage

MOST_TEMPLATES = 4
"""A stream whose events do not stay alike is parsed event by event."""


class Reader(Protocol):
    """Reads one stream of an engine."""

    is_done: bool
    """Whether the answer is whole."""
    engine_goes_on: bool
    """Whether the engine does not know that the answer is whole, and has to be stopped."""
    failure: str
    """What the engine said when it failed; empty while it has not."""

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the client's events for these bytes."""
        ...


class EngineStream:
    """Passes events on, less what the client did not ask for."""

    def __init__(self, progress: Progress, *, shows_usage: bool, shows_ids: bool) -> None:
        self._progress = progress
        self._shows_usage, self._shows_ids = shows_usage, shows_ids
        self._splitter = EventSplitter()
        self._template: Template | None = None
        self._templates_left = 0 if shows_ids else MOST_TEMPLATES
        self.is_done = self.engine_goes_on = False
        self.failure = ""

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the client's events for these bytes."""
        out = []
        for event in self._splitter.feed(data):
            if self.failure or self.is_done:
                break
            if (shown := self._shown(event)) is not None:
                out.append(shown)
        return out

    def _shown(self, event: bytes) -> bytes | None:
        if self._template is not None and (piece := self._template.read(event)) is not None:
            text, ids, shown = piece
            if text and ids:
                self._progress.say(text, ids)
            else:
                self._progress.add(text, ids, text)
            return shown
        chunk = read(event)
        if chunk is None:
            self.is_done = event == DONE
            return event
        if (status := chunk.error_status) is not None and status >= 500:
            self.failure = f"error {status} in its stream"
            return None
        self._progress.take(chunk)
        if self._templates_left and (template := template_of(event, chunk)) is not None:
            self._template = template
            self._templates_left -= 1
        if chunk.usage is not None and chunk.used is not None:
            self._progress.has_shown_usage = self._shows_usage
            if not self._shows_usage:
                return None
        if self._shows_ids or not _has_ids(chunk):
            return event
        return None if _says_nothing(chunk) else without_ids(event)


def _has_ids(chunk: Chunk) -> bool:
    if chunk.prompt_token_ids is not None:
        return True
    choices = chunk.choices or ()
    return any(c.token_ids is not None or c.prompt_token_ids is not None for c in choices)


def _says_nothing(chunk: Chunk) -> bool:
    """Tells a chunk that engines send only because ids are asked for: a parser ate its text."""
    return all(_is_empty(choice) for choice in chunk.choices or ()) and bool(chunk.choices)


def _is_empty(choice: Choice) -> bool:
    delta = choice.delta
    if delta is None or choice.finish_reason is not None or delta.role is not None:
        return False
    return not delta.is_text and not delta.is_more


class ContinuedStream:
    """Turns the rest of an answer, however it was asked for, into the first stream's events."""

    def __init__(
        self,
        progress: Progress,
        author: Author,
        scanner: StopScanner,
        *,
        shows_usage: bool,
        shows_ids: bool,
    ) -> None:
        self._progress, self._author, self._scanner = progress, author, scanner
        self._shows_usage, self._shows_ids = shows_usage, shows_ids
        self._splitter = EventSplitter()
        self.is_done = self.engine_goes_on = False
        self.failure = ""

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the client's events for these bytes."""
        out: list[bytes] = []
        for event in self._splitter.feed(data):
            if self.is_done or self.failure:
                break
            if event == DONE:
                self._end(out)
            elif (chunk := read(event)) is not None:
                self._take(chunk, out)
        return out

    def _end(self, out: list[bytes]) -> None:
        if self._progress.finish_reason is None:
            self.failure = "no finish reason"
            return
        self.is_done = True
        out += ending(self._progress, self._author, shows_usage=self._shows_usage)

    def _take(self, chunk: Chunk, out: list[bytes]) -> None:
        if (status := chunk.error_status) is not None:
            self.failure = f"error {status} in its stream"
        elif (used := chunk.used) is not None:
            self._count(used)
        for choice in chunk.choices or ():
            self._take_choice(choice, out)

    def _count(self, used: Usage) -> None:
        """Without ids only the engine knows the numbers: what was said is part of its prompt."""
        progress = self._progress
        if not progress.has_ids and progress.usage is None:
            before = progress.pieces_before
            prompt = max(0, used.prompt_tokens - before)
            progress.usage = Usage(prompt, before + used.completion_tokens)

    def _take_choice(self, choice: Choice, out: list[bytes]) -> None:
        progress, scanner = self._progress, self._scanner
        delta = choice.delta
        if delta is not None and (delta.is_more or (choice.token_ids and not delta.is_text)):
            progress.is_odd = True
        sent = scanner.feed(choice.said)
        finish, stopped = choice.finish_reason, choice.stop_reason
        if scanner.matched is not None:
            finish, stopped = "stop", scanner.matched
        elif finish is not None:
            sent += scanner.flush()
        progress.add(choice.said, choice.token_ids, sent)
        progress.finish_reason = finish or progress.finish_reason
        if sent or finish is not None:
            ids = choice.token_ids if self._shows_ids else None
            out.append(self._author.text(sent, finish, stopped, ids))
        if scanner.matched is not None:
            self.engine_goes_on = choice.finish_reason is None
            self._end(out)


def ending(progress: Progress, author: Author, *, shows_usage: bool) -> list[bytes]:
    """Returns the events after an answer's finish reason."""
    if progress.usage is None:
        progress.usage = progress.used
    shows_usage = shows_usage and not progress.has_shown_usage
    return [author.usage(progress.usage), DONE] if shows_usage else [DONE]
