"""An engine's chat answer as Anthropic's message, whole and streamed. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout.gateway.dialects.answer import COMMENT, bare_id, error_of, event, reasoning_of
from turnout.gateway.dialects.words import in_words
from turnout.gateway.errors import RequestError
from turnout.gateway.resume.chunk import Choice, Chunk, Delta, read
from turnout.gateway.sse import DONE, Usage

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
NAMES = {
    "max_completion_tokens": "max_tokens",
    "stop": "stop_sequences",
    "response_format": "output_config.format",
    "reasoning_effort": "output_config.effort",
    "tool_call_id": "tool_use_id",
}
"""Anthropic's names of chat's fields, where they differ."""
Block = dict[str, Any]


def error_body(error: RequestError) -> dict[str, Any]:
    """Returns `{"error": {type, message}}`."""
    error = in_words(error, NAMES)
    other = "invalid_request_error" if error.status < 500 else "api_error"
    return {"error": {"type": ERROR_TYPES.get(error.status, other), "message": str(error)}}


def as_message(data: bytes) -> bytes:
    """Returns a whole answer as a message."""
    answer = json.loads(data)
    choice = answer["choices"][0]
    said, content = choice["message"], []
    if thought := reasoning_of(said):
        content.append({"type": "thinking", "thinking": thought, "signature": ""})
    if said.get("content"):
        content.append({"type": "text", "text": said["content"]})
    calls = said.get("tool_calls") or ()
    content += map(_tool_use, calls)
    stop = _stop(choice["finish_reason"], choice.get("stop_reason"), called=bool(calls))
    usage = _usage(Usage.of(answer) or Usage(0, 0))
    return msgspec.json.encode(_message(answer["id"], answer["model"], content, stop, usage))


def _message(
    engine_id: str, model: str, content: list[Block], stop: Block, usage: Block
) -> dict[str, Any]:
    return {
        "id": f"msg_{bare_id(engine_id)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        **stop,
        "usage": usage,
    }


def _tool_use(call: Mapping[str, Any]) -> Block:
    function = call["function"]
    arguments = function.get("arguments") or "{}"
    try:
        asked = json.loads(arguments)
    except ValueError:  # cut off by max_tokens; Anthropic's guide words it so, too
        asked = {"INVALID_JSON": arguments}
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": asked}


def _stop(reason: str | None, matched: object, *, called: bool) -> Block:
    stop_reason = STOP_REASONS.get(reason or "stop", "end_turn")
    if called and reason == "stop":  # engines say so after a call that was asked for by name
        stop_reason = "tool_use"
    elif reason == "stop" and isinstance(matched, str):
        return {"stop_reason": "stop_sequence", "stop_sequence": matched}
    return {"stop_reason": stop_reason, "stop_sequence": None}


def _usage(used: Usage) -> Block:
    """Anthropic counts what was read from the cache apart from the input."""
    return {
        "input_tokens": max(0, used.prompt_tokens - used.cached_tokens),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": used.cached_tokens,
        "output_tokens": used.completion_tokens,
    }


class MessageEvents:
    """Translates one stream: blocks come one after the other, each opened and closed.

    The prompt's tokens are known at the end, where `message_delta` tells them.
    """

    def __init__(self) -> None:
        self._has_begun = self._has_ended = self._called = False
        self._blocks = 0
        self._open = ""
        self._choice = Choice(finish_reason="stop")
        self._used = Usage(0, 0)

    def feed(self, events: Sequence[bytes]) -> bytes:
        """Returns the client's events."""
        out: list[bytes] = []
        for each in events:
            if self._has_ended:
                break
            if each == DONE:
                self._end(out)
            elif (chunk := read(each)) is not None:
                self._take(chunk, out)
            elif each.startswith(COMMENT):
                out.append(each)
        return b"".join(out)

    def _take(self, chunk: Chunk, out: list[bytes]) -> None:
        if chunk.error is not None:
            out.append(event("error", error_body(error_of(chunk))))
            self._has_ended = True
            return
        self._begin(chunk, out)
        self._used = Usage.of({"usage": chunk.usage}) or self._used
        for choice in chunk.choices or ():
            if choice.delta is not None:
                self._say(choice.delta, out)
            if choice.finish_reason is not None:
                self._choice = choice

    def _begin(self, chunk: Chunk, out: list[bytes]) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        stop = {"stop_reason": None, "stop_sequence": None}
        begun = _message(chunk.id, chunk.model, [], stop, _usage(Usage(0, 0)))
        out.append(event("message_start", {"message": begun}))

    def _say(self, delta: Delta, out: list[bytes]) -> None:
        if thought := delta.reasoning or delta.reasoning_content:
            self._need("thinking", {"type": "thinking", "thinking": "", "signature": ""}, out)
            self._add({"type": "thinking_delta", "thinking": thought}, out)
        if isinstance(delta.content, str) and delta.content:
            self._need("text", {"type": "text", "text": ""}, out)
            self._add({"type": "text_delta", "text": delta.content}, out)
        for call in delta.tool_calls or ():
            self._call(call, out)

    def _call(self, call: Mapping[str, Any], out: list[bytes]) -> None:
        self._called = True
        function = call.get("function") or {}
        block = {"type": "tool_use", "id": call.get("id"), "name": function.get("name")}
        self._need(f"call {call.get('index')}", {**block, "input": {}}, out)
        if arguments := function.get("arguments"):
            self._add({"type": "input_json_delta", "partial_json": arguments}, out)

    def _need(self, name: str, block: Block, out: list[bytes]) -> None:
        """Opens a block unless it is the one that is open."""
        if self._open == name:
            return
        self._close(out)
        self._open = name
        out.append(event("content_block_start", {"index": self._blocks, "content_block": block}))
        if self._blocks == 0:
            out.append(event("ping", {}))

    def _add(self, delta: Block, out: list[bytes]) -> None:
        out.append(event("content_block_delta", {"index": self._blocks, "delta": delta}))

    def _close(self, out: list[bytes]) -> None:
        if self._open:
            out.append(event("content_block_stop", {"index": self._blocks}))
            self._blocks += 1
            self._open = ""

    def _end(self, out: list[bytes]) -> None:
        self._close(out)
        self._has_ended = True
        choice = self._choice
        stop = _stop(choice.finish_reason, choice.stop_reason, called=self._called)
        out.append(event("message_delta", {"delta": stop, "usage": _usage(self._used)}))
        out.append(event("message_stop", {}))
