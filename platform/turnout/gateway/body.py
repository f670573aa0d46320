"""Reads a request body strictly and checks it against a model of its fields. Pure."""

import json
import math
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from turnout.gateway.errors import InvalidField, MalformedJson, UnknownField

MAX_DEPTH = 128


def checked(raw: bytes, body: type[BaseModel], unchecked: Collection[str] = ()) -> dict[str, Any]:
    """Returns a body's fields as sent.

    `unchecked` are the fields that may come beside the model's. Raises `MalformedJson`,
    `InvalidField` or `UnknownField` (the first found).
    """
    fields = json_object(raw)
    try:
        body.model_validate(fields)
    except ValidationError as error:
        raise _invalid_field(error) from None
    known = _names(body)
    for name in fields:
        if name not in known and name not in unchecked:
            raise UnknownField(name[:64])
    return fields


@cache
def _names(body: type[BaseModel]) -> frozenset[str]:
    return frozenset(body.model_fields)


def json_object(raw: bytes) -> dict[str, Any]:
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
