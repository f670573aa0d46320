"""What of a request matters for where it runs. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from turnout.gateway.balance.prefix import Blocks, blocks_of

CHARACTERS_PER_TOKEN = 4
"""Of English text in today's vocabularies: estimates only compare replicas with one another."""
TYPICAL_OUTPUT_TOKENS = 128
BEGINNING_TOKENS = 8192
"""Further token ids of a prompt are not looked at."""


@dataclass(frozen=True)
class Job:
    """What of a request matters for where it runs; one object per request, kept over retries."""

    prompt: str = ""
    """Its text from the beginning (`beginning`), for replicas that have the same one cached."""
    session: str = ""
    """`x-session-id`: requests of one session stay together where they can."""
    prompt_tokens: int = 0
    """0 where nobody has counted: estimated from the text then."""
    output_tokens: int = 0
    """Expected length of the answer; 0 where nobody knows."""
    is_resumable: bool = True
    """Whether an answer that broke off can go on elsewhere."""
    salt: str = ""
    """The team whose cache it may use: other teams' equal prompts are not the same prefix."""

    @cached_property
    def blocks(self) -> Blocks:
        """The prompt's beginning as a chain of hashes."""
        return blocks_of(self.prompt, self.salt)

    @cached_property
    def input_tokens(self) -> int:
        """The prompt's length, counted or estimated."""
        return self.prompt_tokens or len(self.prompt) // CHARACTERS_PER_TOKEN

    @property
    def answer_tokens(self) -> int:
        """The answer's expected length."""
        return self.output_tokens or TYPICAL_OUTPUT_TOKENS


def beginning(fields: Mapping[str, Any]) -> str:
    """Returns a request body's prompt as one text that grows at its end from turn to turn.

    The order is that of chat templates: tools first, then the messages. It is never sent anywhere.
    """
    if "messages" in fields:
        return "\x00".join(_chat_parts(fields))
    prompt = fields.get("prompt")
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, list):
        return "\x00".join(map(str, prompt[:BEGINNING_TOKENS]))
    return ""


def _chat_parts(fields: Mapping[str, Any]) -> Iterator[str]:
    if tools := fields.get("tools"):
        yield json.dumps(tools)
    for message in fields["messages"]:
        yield str(message.get("role"))
        content = message.get("content")
        yield content if isinstance(content, str) else json.dumps(content)
        if calls := message.get("tool_calls"):
            yield json.dumps(calls)
