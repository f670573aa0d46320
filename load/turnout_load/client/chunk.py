"""The parts of OpenAI's answers that a measurement needs; everything else is skipped unread."""

from __future__ import annotations

from typing import Any

import msgspec


class PromptDetails(msgspec.Struct):
    """`usage.prompt_tokens_details`."""

    cached_tokens: int | None = None


class Usage(msgspec.Struct):
    """`usage`."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None


class Message(msgspec.Struct):
    """A choice's `delta` or `message`."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[msgspec.Raw] | None = None
    refusal: str | None = None


class Choice(msgspec.Struct):
    """One of `choices`: of a chat chunk, a chat answer or a text completion."""

    delta: Message | None = None
    message: Message | None = None
    text: str | None = None

    @property
    def content(self) -> str:
        """The text that this choice adds to the answer; reasoning is no part of it."""
        said = self.delta or self.message
        return (said.content if said else self.text) or ""

    @property
    def has_more(self) -> bool:
        """Says whether it carries something generated that is no part of the text."""
        said = self.delta or self.message
        return said is not None and any(
            (said.reasoning, said.reasoning_content, said.refusal, said.tool_calls)
        )

    @property
    def has_content(self) -> bool:
        """Says whether it carries anything generated, reasoning and tool calls included."""
        return bool(self.content) or self.has_more


class Chunk(msgspec.Struct):
    """A stream's chunk, or a whole answer."""

    choices: list[Choice] = []
    usage: Usage | None = None
    model: str | None = None
    error: Any = None


decode = msgspec.json.Decoder(Chunk).decode
