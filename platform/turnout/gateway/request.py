"""Reads one generation request: bytes in, a checked request out. Pure."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from turnout.gateway.api import BODIES, PATHS, PROMPTS, UNCHECKED_FIELDS, Endpoint
from turnout.gateway.body import checked
from turnout.gateway.errors import InvalidField
from turnout_router.text import needed_capabilities, prompt_text

# Chat templates add role markers, a default system prompt and, with tools, their instructions:
# 256 tokens hold those of every template tried (SmolLM2 31, Qwen2.5 with tools 158).
TEMPLATE_TOKENS = 256
MESSAGE_TOKENS = 16
BYTES_PER_TOKEN = 4
"""Of English text in today's vocabularies; an estimate, settled with the engine's own count."""


@dataclass(frozen=True)
class GenerationRequest:
    """A checked request: `fields` as sent, `raw` the very bytes."""

    endpoint: Endpoint
    fields: Mapping[str, Any]
    raw: bytes

    @property
    def model(self) -> str:
        """The name the client asked for."""
        return str(self.fields["model"])

    @property
    def is_stream(self) -> bool:
        """Whether the answer goes out as server-sent events."""
        return bool(self.fields.get("stream"))

    @property
    def wants_usage(self) -> bool:
        """Whether the client asked for usage at the end of its stream."""
        return bool((self.fields.get("stream_options") or {}).get("include_usage"))

    @property
    def prompt_field(self) -> str:
        """The field that holds the prompt."""
        return PROMPTS[self.endpoint]

    @property
    def max_tokens_field(self) -> str:
        """The field that bounds the answer, by the name the client used."""
        newer = "max_completion_tokens"
        return newer if self.fields.get(newer) else "max_tokens"

    @property
    def max_tokens(self) -> int | None:
        """The most tokens the client lets be generated, by either of OpenAI's names."""
        return self.fields.get(self.max_tokens_field) or None

    @cached_property
    def text(self) -> str:
        """The text the router judges."""
        return prompt_text(self.fields)

    @cached_property
    def capabilities(self) -> frozenset[str]:
        """What a model must be able to do to answer."""
        return needed_capabilities(self.fields) | {self.endpoint}

    @cached_property
    def prompt_tokens_at_most(self) -> int:
        """An upper bound of the prompt's tokens: byte-level vocabularies use at most one a byte.

        JSON never spells a text shorter than it is, so the body's length bounds the messages;
        templates spell tools out wider, so these count once more. Token ids are exact.
        """
        if self.endpoint != "chat":
            return max(_lengths(self.fields[self.prompt_field]), default=1)
        tools = self.fields.get("tools")
        offered = len(json.dumps(tools)) if tools else 0
        turns = MESSAGE_TOKENS * len(self.fields["messages"])
        return len(self.raw) + offered + TEMPLATE_TOKENS + turns

    @cached_property
    def prompt_tokens_expected(self) -> int:
        """An estimate of the tokens of all its prompts, by size."""
        by_size = len(self.raw) // BYTES_PER_TOKEN + 1
        if self.endpoint == "chat":
            return min(self.prompt_tokens_at_most, by_size)
        return min(sum(_lengths(self.fields[self.prompt_field])), by_size)

    @property
    def has_token_ids(self) -> bool:
        """Whether the prompt is token ids, counted already."""
        prompt = self.fields.get("prompt")
        return isinstance(prompt, list) and not any(isinstance(each, str) for each in prompt[:1])

    def with_salt(self, salt: str) -> "GenerationRequest":
        """Returns the request for an engine that shares cached prompts under one salt only."""
        if self.endpoint == "embeddings":
            return self  # nothing of them is cached
        fields = {**self.fields, "cache_salt": salt}
        last = b',"cache_salt":%b}' % msgspec.json.encode(salt)
        return GenerationRequest(self.endpoint, fields, self.raw.rstrip()[:-1] + last)

    def for_engine(self, model: str) -> bytes:
        """Returns the body to send: the client's bytes, changed only where they must be.

        The model becomes the engine's name, and a stream always ends with usage (the relay drops
        it again where the client did not ask).
        """
        needs_usage = self.is_stream and not self.wants_usage
        if model == self.model and not needs_usage:
            return self.raw
        body = {**self.fields, "model": model}
        if needs_usage:
            options = self.fields.get("stream_options") or {}
            body["stream_options"] = {**options, "include_usage": True}
        return msgspec.json.encode(body)


def parse(endpoint: Endpoint, raw: bytes, engine_fields: Collection[str]) -> GenerationRequest:
    """Checks a body; raises `MalformedJson`, `InvalidField` or `UnknownField` (the first found)."""
    unchecked = UNCHECKED_FIELDS if endpoint != "embeddings" else frozenset[str]()
    fields = checked(raw, BODIES[endpoint], unchecked.union(engine_fields))
    if fields.get("stream_options") and not fields.get("stream"):
        raise InvalidField("stream_options", "only allowed when 'stream' is true")
    return GenerationRequest(endpoint, fields, raw)


def endpoint_of(path: str) -> Endpoint | None:
    """Returns the endpoint at a path, or None."""
    return next((endpoint for endpoint, at in PATHS.items() if at == path), None)


def _lengths(prompt: str | list[Any]) -> list[int]:
    """Returns the upper bound of each prompt's tokens."""
    if isinstance(prompt, str):
        return [len(prompt.encode()) + 1]
    if prompt and isinstance(prompt[0], int):
        return [len(prompt)]
    return [length for each in prompt for length in _lengths(each)]
