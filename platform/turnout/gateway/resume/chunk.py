"""The chunks of an engine's stream: what is read of them, and new ones in their shape. Pure."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.gateway.sse import DONE, Usage

DATA = b"data: "
END = b"\n\n"
_EITHER_IDS = re.compile(rb'"((?:prompt_)?token_ids)"\s*:\s*\[[^\]]*\]')
_IDS = b'"token_ids":['


class Delta(msgspec.Struct):
    """What a chat chunk adds; all but `content` and `role` cannot be told again by text alone."""

    content: str | msgspec.UnsetType | None = msgspec.UNSET
    role: str | None = None
    reasoning: Any = None
    reasoning_content: Any = None
    tool_calls: Any = None
    function_call: Any = None
    refusal: Any = None

    @property
    def is_text(self) -> bool:
        """Whether it says nothing but text: no parser of the engine's takes text away."""
        return self.content is not msgspec.UNSET and not self.is_more

    @property
    def is_more(self) -> bool:
        """Whether it says something beside text."""
        return bool(
            self.reasoning
            or self.reasoning_content
            or self.tool_calls
            or self.function_call
            or self.refusal
        )


class Choice(msgspec.Struct):
    """One answer's part of a chunk, of chat or of completions."""

    index: int = 0
    delta: Delta | None = None
    text: str | None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    token_ids: list[int] | None = None
    prompt_token_ids: list[int] | None = None

    @property
    def said(self) -> str:
        """The text that it adds."""
        if self.delta is None:
            return self.text or ""
        return self.delta.content or ""


class Chunk(msgspec.Struct):
    """One event's JSON."""

    id: str = ""
    created: int | float = 0
    model: str = ""
    choices: list[Choice] | None = None
    usage: Any = None
    prompt_token_ids: list[int] | None = None
    error: Any = None

    @property
    def used(self) -> Usage | None:
        """The token counts of the usage chunk, which is the one without choices."""
        return Usage.of({"usage": self.usage}) if self.choices == [] else None

    @property
    def error_status(self) -> int | None:
        """The status of an error that the engine tells in its stream; None of other chunks."""
        if self.error is None:
            return None
        code = self.error.get("code") if isinstance(self.error, dict) else None
        return code if isinstance(code, int) else 500

    @property
    def error_message(self) -> str:
        """What an error says."""
        told = self.error.get("message") if isinstance(self.error, dict) else self.error
        return str(told)


_decode = msgspec.json.Decoder(Chunk).decode


def read(event: bytes) -> Chunk | None:
    """Returns an event's chunk; None of comments, `[DONE]` and what is no chunk."""
    if not event.startswith(DATA) or event == DONE:
        return None
    try:
        return _decode(event[len(DATA) :])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def without_ids(event: bytes) -> bytes:
    """Returns an event as it is where nobody asks for token ids."""
    start = event.find(_IDS)
    if start >= 0 and event.find(b"prompt_token_ids") < 0:
        end = event.find(b"]", start)
        return event[: start + len(_IDS) - 1] + b"null" + event[end + 1 :]
    return _EITHER_IDS.sub(rb'"\1":null', event)


class Author:
    """Writes chunks that look like those of a stream that has begun."""

    def __init__(self, is_chat: bool, head: Chunk) -> None:
        kind = "chat.completion.chunk" if is_chat else "text_completion"
        self._is_chat = is_chat
        self._head = {
            "id": head.id,
            "object": kind,
            "created": head.created,
            "model": head.model,
        }

    def text(
        self,
        text: str,
        finish_reason: str | None = None,
        stop_reason: int | str | None = None,
        ids: Sequence[int] | None = None,
    ) -> bytes:
        """Returns the event that adds a text, and may finish the answer."""
        said: dict[str, Any] = {"delta": {"content": text}} if self._is_chat else {"text": text}
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": finish_reason}
        if finish_reason is not None or not self._is_chat:
            choice["stop_reason"] = stop_reason
        choice["token_ids"] = ids
        return self._event({"choices": [choice]})

    def usage(self, used: Usage) -> bytes:
        """Returns the event that tells the usage."""
        counts: dict[str, Any] = {
            "prompt_tokens": used.prompt_tokens,
            "total_tokens": used.prompt_tokens + used.completion_tokens,
            "completion_tokens": used.completion_tokens,
        }
        if used.cached_tokens:
            counts["prompt_tokens_details"] = {"cached_tokens": used.cached_tokens}
        return self._event({"choices": [], "usage": counts})

    def _event(self, more: dict[str, Any]) -> bytes:
        return DATA + msgspec.json.encode({**self._head, **more}) + END
