"""The body of a request, as OpenAI's API has it, with vLLM's fields where they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout_load.spec import Target
from turnout_load.workload.work import Conversation, Message, Turn


def body(
    target: Target,
    conversation: Conversation,
    history: Sequence[Message],
    turn: Turn,
    exact_output: bool,
) -> dict[str, Any]:
    """Returns the body of a turn that follows this history; its `user` is the team."""
    made: dict[str, Any] = {"model": target.model, "stream": target.stream}
    messages = [*history, *turn.messages]
    if target.endpoint == "completions":
        made["prompt"] = "\n".join(map(_text, messages))
    else:
        made["messages"] = messages
    if target.stream:
        made["stream_options"] = {"include_usage": True}
    if conversation.team:
        made["user"] = conversation.team
    if conversation.priority is not None:
        made["priority"] = conversation.priority
    return made | _length(turn.max_tokens, exact_output) | dict(conversation.fields)


def encode(made: Mapping[str, Any]) -> bytes:
    """Returns a body as JSON."""
    return msgspec.json.encode(made)


def _length(max_tokens: int | None, exact: bool) -> dict[str, Any]:
    if max_tokens is None:
        return {}
    vllm = {"min_tokens": max_tokens, "ignore_eos": True} if exact else {}
    return {"max_tokens": max_tokens, **vllm}


def _text(message: Message) -> str:
    """Returns a message's text; of a list of parts, those of text."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return content or ""
