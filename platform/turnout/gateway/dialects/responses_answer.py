"""An engine's chat answer as OpenAI's response object. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout.gateway.dialects.answer import bare_id, reasoning_of
from turnout.gateway.dialects.read import Fields
from turnout.gateway.dialects.words import in_words
from turnout.gateway.errors import RequestError
from turnout.gateway.sse import Usage

Item = dict[str, Any]
NAMES = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "tool_call_id": "call_id",
}
"""The names that chat's fields have in responses, where they differ."""
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def as_response(data: bytes, asked: Fields) -> bytes:
    """Returns a whole answer as a response."""
    answer = json.loads(data)
    choice = answer["choices"][0]
    base, said = bare_id(answer["id"]), choice["message"]
    output: list[Item] = []
    if thought := reasoning_of(said):
        output.append(reasoning(base, 0, thought))
    if said.get("content"):
        output.append(message(base, len(output), said["content"]))
    for call in said.get("tool_calls") or ():
        function = call["function"]
        named = (call["id"], function["name"], function.get("arguments") or "")
        output.append(function_call(base, len(output), *named))
    used = Usage.of(answer) or Usage(0, 0)
    head = (base, answer["created"], answer["model"])
    ended = ending(choice["finish_reason"], output, used)
    return msgspec.json.encode({**response(*head, asked), **ended})


def response(base: str, created: float, model: str, asked: Fields) -> Item:
    """Returns the object at its beginning: what was asked for, and no output."""
    reasons = asked.get("reasoning") or {}
    return {
        "id": f"resp_{base}",
        "object": "response",
        "created_at": int(created),
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": asked.get("instructions"),
        "max_output_tokens": asked.get("max_output_tokens"),
        "max_tool_calls": asked.get("max_tool_calls"),
        "model": model,
        "output": [],
        "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
        "previous_response_id": None,
        "reasoning": {"effort": reasons.get("effort"), "summary": None},
        "service_tier": "default",
        "store": False,
        "temperature": asked.get("temperature"),
        "text": asked.get("text") or {"format": {"type": "text"}},
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "top_logprobs": 0,
        "top_p": asked.get("top_p"),
        "truncation": "disabled",
        "usage": None,
        "user": asked.get("user"),
        "metadata": asked.get("metadata") or {},
    }


def ending(finish_reason: str | None, output: Sequence[Item], used: Usage) -> Item:
    """Returns the fields that an answer's end settles; what was cut off last is incomplete."""
    reason = _INCOMPLETE.get(finish_reason or "")
    status = "incomplete" if reason else "completed"
    items = [*output]
    if reason and items and "status" in items[-1]:
        items[-1] = {**items[-1], "status": "incomplete"}
    return {
        "status": status,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": items,
        "usage": _usage(used),
    }


def _usage(used: Usage) -> Item:
    return {
        "input_tokens": used.prompt_tokens,
        "input_tokens_details": {"cached_tokens": used.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": used.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used.prompt_tokens + used.completion_tokens,
    }


def text_content(text: str) -> Item:
    """Returns the content part of a text."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def thought_content(text: str) -> Item:
    """Returns the content part of a thought."""
    return {"type": "reasoning_text", "text": text}


def message(base: str, index: int, text: str) -> Item:
    """Returns the item of what the assistant says."""
    return {
        "id": f"msg_{base}_{index}",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [text_content(text)],
    }


def reasoning(base: str, index: int, text: str) -> Item:
    """Returns the item of what the assistant thinks."""
    content = [thought_content(text)]
    return {"id": f"rs_{base}_{index}", "type": "reasoning", "summary": [], "content": content}


def function_call(base: str, index: int, call_id: str, name: str, arguments: str) -> Item:
    """Returns the item of a call."""
    return {
        "id": f"fc_{base}_{index}",
        "type": "function_call",
        "status": "completed",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }


def error_body(error: RequestError) -> dict[str, Any]:
    """Returns `{"error": {message, type, param, code}}`."""
    return in_words(error, NAMES).body()


def error_fields(error: RequestError, number: int) -> Mapping[str, Any]:
    """Returns the data of an `error` event: as documented, and as clients look for it."""
    told = error_body(error)["error"]
    flat = {name: told[name] for name in ("code", "message", "param")}
    return {"sequence_number": number, **flat, "error": told}
