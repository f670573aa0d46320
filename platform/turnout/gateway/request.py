"""Reads one generation request: bytes in, a checked request out. Pure."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from turnout.gateway.api import BODIES, PATHS, UNCHECKED_FIELDS, Endpoint
from turnout.gateway.errors import InvalidField, MalformedJson, UnknownField
from turnout_router.text import needed_capabilities, prompt_text

# Chat templates add role markers, a default system prompt and, with tools, their instructions:
# 256 tokens hold those of every template tried (SmolLM2 31, Qwen2.5 with tools 158).
TEMPLATE_TOKENS = 256
MESSAGE_TOKENS = 16


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
    def max_tokens(self) -> int | None:
        """The most tokens the client lets be generated, by either of OpenAI's names."""
        asked = self.fields.get("max_completion_tokens") or self.fields.get("max_tokens")
        return int(asked) if asked else None

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
        """An upper bound of the prompt's tokens: byte-level vocabularies use at most one a byte."""
        if self.endpoint == "completions":
            return _longest_prompt(self.fields["prompt"])
        messages = self.fields["messages"]
        said = len(json.dumps(messages, ensure_ascii=False).encode("utf-8", "replace"))
        tools = self.fields.get("tools")
        offered = len(json.dumps(tools).encode()) if tools else 0
        return said + offered + TEMPLATE_TOKENS + MESSAGE_TOKENS * len(messages)

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
        return json.dumps(body).encode()


def parse(endpoint: Endpoint, raw: bytes, engine_fields: Collection[str]) -> GenerationRequest:
    """Checks a body; raises `MalformedJson`, `InvalidField` or `UnknownField` (the first found)."""
    try:
        fields = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise MalformedJson(_json_problem(error)) from None
    if not isinstance(fields, dict):
        raise MalformedJson(f"it is a {_JSON_NAMES[type(fields)]}")
    try:
        BODIES[endpoint].model_validate(fields)
    except ValidationError as error:
        raise _invalid_field(error) from None
    known = BODIES[endpoint].model_fields.keys() | UNCHECKED_FIELDS
    for name in fields:
        if name not in known and name not in engine_fields:
            raise UnknownField(name[:64])
    if fields.get("stream_options") and not fields.get("stream"):
        raise InvalidField("stream_options", "only allowed when 'stream' is true")
    return GenerationRequest(endpoint, fields, raw)


def endpoint_of(path: str) -> Endpoint | None:
    """Returns the endpoint at a path, or None."""
    return next((endpoint for endpoint, at in PATHS.items() if at == path), None)


_JSON_NAMES = {
    list: "list",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _json_problem(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 (byte {error.start})"
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return str(error)


def _invalid_field(error: ValidationError) -> InvalidField:
    first = error.errors(include_url=False, include_input=False)[0]
    path = ""
    for step in first["loc"]:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step in _UNION_BRANCHES or "[" in step or "(" in step:
            break  # pydantic names the union's branch here, not a field
        else:
            path += f".{step}" if path else step
    return InvalidField(path, first["msg"])


_UNION_BRANCHES = frozenset(("str", "int", "float", "bool", "dict"))


def _longest_prompt(prompt: str | list[Any]) -> int:
    """Returns the upper bound of the longest of a completion's prompts, in tokens."""
    if isinstance(prompt, str):
        return len(prompt.encode("utf-8", "replace")) + 1
    if prompt and isinstance(prompt[0], int):
        return len(prompt)
    return max((_longest_prompt(each) for each in prompt), default=1)
