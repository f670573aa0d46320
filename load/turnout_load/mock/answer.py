"""The honest answers: what is said, when, as OpenAI's API says it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from turnout_load.mock.ask import Ask
from turnout_load.mock.script import LAST_CHUNK, Script, Step, chunk, head, whole
from turnout_load.mock.settings import MockSettings

MS = 1_000_000
DONE = b"data: [DONE]\n\n"
WORDS = ("the", "train", "takes", "a", "turnout", "onto", "another", "line")
_ID = "mock-0000000000000000"
"""Stands in prepared events for an id of the same length."""


class Request(NamedTuple):
    """What an answer depends on."""

    ask: Ask
    is_chat: bool
    id: str
    headers: tuple[str, ...] = ()
    """More headers of the answer."""


class Usage(NamedTuple):
    """Numbers of tokens."""

    prompt: int
    completion: int
    cached: int

    def as_json(self) -> dict[str, Any]:
        """Returns the `usage` object."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }


class Beat(NamedTuple):
    """Events of a stream that are sent together."""

    offset_ns: int
    events: bytes
    has_content: bool = True


def answer(request: Request, settings: MockSettings) -> Script:
    """Returns the answer's script."""
    if request.ask.stream:
        return stream(request, beats(request, settings))
    return whole_answer(request, settings)


def whole_answer(request: Request, settings: MockSettings) -> Script:
    """Returns the script of an answer that is not streamed."""
    data = whole(200, whole_body(request, settings), *request.headers)
    return Script((Step(whole_ns(request.ask, settings), data, has_content=True),))


def whole_body(request: Request, settings: MockSettings) -> bytes:
    """Returns the JSON of an answer that is not streamed."""
    body = _prepared_body(request.is_chat, request.ask.model, usage(request.ask, settings))
    return _with_id(body, request)


@lru_cache(maxsize=1024)
def _prepared_body(is_chat: bool, model: str, used: Usage) -> bytes:
    text = "".join(_texts(used.completion))
    said = {"message": {"role": "assistant", "content": text}} if is_chat else {"text": text}
    return msgspec.json.encode(
        {
            "id": _ID,
            "object": "chat.completion" if is_chat else "text_completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "finish_reason": "length", **said}],
            "usage": used.as_json(),
        }
    )


def _with_id(prepared: bytes, request: Request) -> bytes:
    return prepared.replace(_ID.encode(), request.id.encode())


def whole_ns(ask: Ask, settings: MockSettings) -> int:
    """Returns the time of an answer that is not streamed: its last token's, unless one is set."""
    if settings.whole_ms is not None:
        return round(settings.whole_ms * MS)
    return token_ns(max(0, ask.tokens(settings.tokens) - 1), settings)


def token_ns(number: int, settings: MockSettings) -> int:
    """Returns when a token is due, the first one being number 0."""
    return round((settings.ttft_ms + number * settings.itl_ms) * MS)


def usage(ask: Ask, settings: MockSettings) -> Usage:
    """Returns what the request costs."""
    prompt = ask.prompt_tokens
    return Usage(prompt, ask.tokens(settings.tokens), int(prompt * settings.cached_share))


def stream(request: Request, said: Sequence[Beat]) -> Script:
    """Returns the script of a stream: the head at once, every beat in a chunk of its own."""
    steps = [Step(0, stream_head(request)), *(in_chunk(beat) for beat in said)]
    steps[-1] = steps[-1]._replace(data=steps[-1].data + LAST_CHUNK)
    return Script(tuple(steps), is_stream=True)


def stream_head(request: Request) -> bytes:
    """Returns the headers of a stream of events."""
    return head(200, "text/event-stream", "transfer-encoding: chunked", *request.headers)


def in_chunk(beat: Beat) -> Step:
    """Returns the step that sends a beat in one chunk."""
    return Step(beat.offset_ns, chunk(beat.events), beat.has_content)


def beats(request: Request, settings: MockSettings) -> list[Beat]:
    """Returns what a stream says, and when; its last beat ends with `[DONE]`."""
    ask, per_chunk = request.ask, settings.tokens_per_chunk
    events = content_events(request.is_chat, ask.model, ask.tokens(settings.tokens), per_chunk)
    said = [
        Beat(token_ns(number * per_chunk, settings), _with_id(event, request))
        for number, event in enumerate(events)
    ]
    if request.is_chat and settings.role_chunk:
        said[0] = said[0]._replace(events=role_event(request) + said[0].events)
    last = said[-1].events + (usage_event(request, settings) if ask.includes_usage else b"") + DONE
    has_content = ask.tokens(settings.tokens) > 0
    said[-1] = said[-1]._replace(events=last, has_content=has_content)
    return said


@lru_cache(maxsize=1024)
def content_events(is_chat: bool, model: str, tokens: int, per_chunk: int) -> tuple[bytes, ...]:
    """Returns the events with text, one per chunk; an answer of no token has one without any."""
    texts = _texts(tokens)
    joined = ["".join(texts[at : at + per_chunk]) for at in range(0, tokens, per_chunk)] or [""]
    finishes = [None] * (len(joined) - 1) + ["length"]
    return tuple(
        event(_chunk_object(is_chat, _ID, model, _choice(is_chat, text, finish)))
        for text, finish in zip(joined, finishes, strict=True)
    )


def role_event(request: Request) -> bytes:
    """Returns the event that only names the role."""
    choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    return event(_chunk_object(True, request.id, request.ask.model, choice))


def usage_event(request: Request, settings: MockSettings) -> bytes:
    """Returns the event that tells the usage, and has no choices."""
    told = _chunk_object(request.is_chat, request.id, request.ask.model)
    return event({**told, "usage": usage(request.ask, settings).as_json()})


def event(value: Any) -> bytes:
    """Returns a server-sent event with a JSON value."""
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _chunk_object(is_chat: bool, identity: str, model: str, *choices: Any) -> dict[str, Any]:
    kind = "chat.completion.chunk" if is_chat else "text_completion"
    return {"id": identity, "object": kind, "created": 0, "model": model, "choices": list(choices)}


def _choice(is_chat: bool, text: str, finish: str | None) -> dict[str, Any]:
    said = {"delta": {"content": text}} if is_chat else {"text": text}
    return {"index": 0, **said, "finish_reason": finish}


@lru_cache(maxsize=1024)
def _texts(tokens: int) -> tuple[str, ...]:
    return tuple(" " + WORDS[number % len(WORDS)] for number in range(tokens))
