"""Reads one generation request: bytes in, a checked request out. Pure."""

import json
import math
from collections.abc import Collection, Iterable, Mapping
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
MAX_DEPTH = 128


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
        return "messages" if self.endpoint == "chat" else "prompt"

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
        if self.endpoint == "completions":
            return _longest_prompt(self.fields["prompt"])
        tools = self.fields.get("tools")
        offered = len(json.dumps(tools)) if tools else 0
        turns = MESSAGE_TOKENS * len(self.fields["messages"])
        return len(self.raw) + offered + TEMPLATE_TOKENS + turns

    @property
    def has_token_ids(self) -> bool:
        """Whether the prompt is token ids, counted already."""
        prompt = self.fields.get("prompt")
        return isinstance(prompt, list) and not any(isinstance(each, str) for each in prompt[:1])

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
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def parse(endpoint: Endpoint, raw: bytes, engine_fields: Collection[str]) -> GenerationRequest:
    """Checks a body; raises `MalformedJson`, `InvalidField` or `UnknownField` (the first found)."""
    fields = _json_object(raw)
    try:
        BODIES[endpoint].model_validate(fields)
    except ValidationError as error:
        raise _invalid_field(error) from None
    for name in fields:
        if name not in _KNOWN[endpoint] and name not in engine_fields:
            raise UnknownField(name[:64])
    if fields.get("stream_options") and not fields.get("stream"):
        raise InvalidField("stream_options", "only allowed when 'stream' is true")
    return GenerationRequest(endpoint, fields, raw)


def endpoint_of(path: str) -> Endpoint | None:
    """Returns the endpoint at a path, or None."""
    return next((endpoint for endpoint, at in PATHS.items() if at == path), None)


def _json_object(raw: bytes) -> dict[str, Any]:
    """Reads a JSON object, stricter than Python: UTF-8, finite numbers, whole characters."""
    try:
        fields = _STRICT.decode(raw.decode())
    except (ValueError, RecursionError) as error:
        raise MalformedJson(_json_problem(error)) from None
    if not isinstance(fields, dict):
        raise MalformedJson(f"it is a {_JSON_NAMES[type(fields)]}")
    # Both checks cost a walk: only for bodies that might fail them.
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _is_deeper(fields, MAX_DEPTH):
        raise MalformedJson(_TOO_DEEP)
    if b"\\u" in raw and _has_half_characters(fields):
        raise MalformedJson("a \\u escape in it is half a character")
    return fields


_KNOWN = {
    endpoint: body.model_fields.keys() | UNCHECKED_FIELDS for endpoint, body in BODIES.items()
}
_TOO_DEEP = f"it is nested deeper than {MAX_DEPTH} levels"
_JSON_NAMES = {
    list: "list",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


class _NotFinite(ValueError):
    """A number that JSON does not know or a float cannot hold."""


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NotFinite(f"{text[:32]} is not a finite number")
    return number


_STRICT = json.JSONDecoder(parse_constant=_finite, parse_float=_finite)


def _is_deeper(fields: dict[str, Any], levels: int) -> bool:
    """Walks level by level: a recursive walk would end in the error it should prevent."""
    level: list[Any] = [fields]
    for _ in range(levels):
        level = [item for each in level for item in _items(each)]
    return any(isinstance(each, dict | list) for each in level)


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _has_half_characters(fields: dict[str, Any]) -> bool:
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _json_problem(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 (byte {error.start})"
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    if isinstance(error, _NotFinite):
        return str(error)
    return "a number in it has too many digits"


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
    return InvalidField(path, first["msg"].removeprefix("Value error, "))


_UNION_BRANCHES = frozenset(("str", "int", "float", "bool", "dict"))


def _longest_prompt(prompt: str | list[Any]) -> int:
    """Returns the upper bound of the longest of a completion's prompts, in tokens."""
    if isinstance(prompt, str):
        return len(prompt.encode()) + 1
    if prompt and isinstance(prompt[0], int):
        return len(prompt)
    return max((_longest_prompt(each) for each in prompt), default=1)
