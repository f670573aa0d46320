"""Reads parts of a body whose types no model has checked; every error names its place. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnout.gateway.errors import InvalidField
from turnout.gateway.request import GenerationRequest

Fields = Mapping[str, Any]


def string(part: Fields, name: str, at: str) -> str:
    """Returns a part's string; raises `InvalidField` where it has none."""
    value = part.get(name)
    if not isinstance(value, str):
        raise InvalidField(f"{at}.{name}", "must be a string")
    return value


def mapping(part: Fields, name: str, at: str) -> dict[str, Any]:
    """Returns a part's object; raises `InvalidField` where it has none."""
    value = part.get(name)
    if not isinstance(value, dict):
        raise InvalidField(f"{at}.{name}", "must be an object")
    return value


def parts(value: Any, at: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yields a list's objects, each with its place; raises `InvalidField` for anything else."""
    if not isinstance(value, list):
        raise InvalidField(at, "must be a string or a list")
    for index, part in enumerate(value):
        if not isinstance(part, dict):
            raise InvalidField(f"{at}[{index}]", "must be an object")
        yield part, f"{at}[{index}]"


def plain(content: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Returns content parts, or the text itself where it is all there is.

    Many chat templates take nothing but a string.
    """
    if len(content) == 1 and content[0]["type"] == "text":
        return str(content[0]["text"])
    return content


def present(**fields: Any) -> dict[str, Any]:
    """Returns the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def text_part(text: str) -> dict[str, Any]:
    """Returns a text as chat's content part."""
    return {"type": "text", "text": text}


def chat(fields: dict[str, Any]) -> GenerationRequest:
    """Returns the request for a chat whose fields have been put together.

    Streams ask for usage: every translated stream tells it.
    """
    if fields.get("stream"):
        fields["stream_options"] = {"include_usage": True}
    return GenerationRequest("chat", fields, msgspec.json.encode(fields))
