"""The parts of a request's body that the mock looks at."""

from __future__ import annotations

from typing import Any

import msgspec


class StreamOptions(msgspec.Struct):
    """`stream_options`."""

    include_usage: bool = False


class Message(msgspec.Struct):
    """One of `messages`: a text, or parts of which some are texts."""

    content: str | list[dict[str, Any]] | None = None


class Ask(msgspec.Struct):
    """A body of `/v1/chat/completions` or `/v1/completions`."""

    model: str
    messages: list[Message] | None = None
    prompt: str | list[str | int] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None

    @property
    def includes_usage(self) -> bool:
        """Says whether the stream's last chunk is to tell the usage."""
        return self.stream_options is not None and self.stream_options.include_usage

    def tokens(self, otherwise: int) -> int:
        """Returns how many tokens the answer has."""
        for wanted in (self.max_completion_tokens, self.max_tokens):
            if wanted is not None:
                return max(0, wanted)
        return otherwise

    @property
    def prompt_tokens(self) -> int:
        """Returns the prompt's length: its words, or its token ids."""
        return len(self.words)

    @property
    def words(self) -> list[str]:
        """Returns the prompt's tokens in order: its words, or its token ids."""
        if isinstance(self.prompt, str):
            return self.prompt.split()
        if self.prompt:
            return [word for each in self.prompt for word in str(each).split()]
        return [word for message in self.messages or () for word in _words(message)]


def _words(message: Message) -> list[str]:
    if isinstance(message.content, str):
        return message.content.split()
    texts = (part.get("text") for part in message.content or ())
    return [word for text in texts if isinstance(text, str) for word in text.split()]


decode_ask = msgspec.json.Decoder(Ask).decode
