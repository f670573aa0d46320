"""Chat messages as files hold them: checked, and cut into turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnout_load.workload.work import Message, Turn

BODY_FIELDS = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "response_format",
    "tools",
    "tool_choice",
)
"""What a file's line may say of a request's body beside its messages and length."""


def body_fields(line: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the line's fields that are sent as they are."""
    return {name: line[name] for name in BODY_FIELDS if name in line}


def check_messages(messages: Sequence[Message]) -> None:
    """Raises ValueError for a message that no server would take."""
    if not messages:
        raise ValueError("it has no messages")
    for number, message in enumerate(messages):
        content = message.get("content")
        if not isinstance(message.get("role"), str):
            raise ValueError(f"message {number} has no role")
        if not isinstance(content, str | list) and "tool_calls" not in message:
            raise ValueError(f"message {number} has no content")
        if isinstance(content, list) and not all(isinstance(part, dict) for part in content):
            raise ValueError(f"message {number} has a part that is no object")


def turns(messages: Sequence[Message], max_tokens: int | None) -> tuple[Turn, ...]:
    """Cuts a recorded conversation: each answer in words ends a turn and is its `reply`.

    Calls of tools and greetings stay among the next turn's messages. Raises ValueError if nothing
    is asked.
    """
    check_messages(messages)
    made: list[Turn] = []
    waiting: list[Message] = []
    for message in messages:
        text = message.get("content")
        if message["role"] == "assistant" and isinstance(text, str) and text and _asks(waiting):
            made.append(Turn(tuple(waiting), max_tokens, reply=text))
            waiting = []
        else:
            waiting.append(message)
    if _asks(waiting):
        made.append(Turn(tuple(waiting), max_tokens))
    if not made:
        raise ValueError("none of its messages asks for an answer")
    return tuple(made)


def _asks(waiting: Sequence[Message]) -> bool:
    return bool(waiting) and waiting[-1]["role"] not in ("system", "developer", "assistant")
