"""One line of a batch: what it must say, and what is said of it in the end. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from turnout.gateway.body import json_object
from turnout.gateway.errors import MalformedJson, UnknownModel

MOST_ID_CHARACTERS = 256
ENVELOPE_BYTES = 16 * 1024
"""What a line may hold beside its body."""


class Line(msgspec.Struct, frozen=True):
    """What is sent of a line that was checked: the body's very bytes."""

    custom_id: str
    body: msgspec.Raw


@dataclass(frozen=True)
class Rules:
    """What all lines of a batch must keep to."""

    endpoint: str
    max_body_bytes: int
    resolve: Callable[[str], str]
    """Returns the model of a name; raises `UnknownModel`."""

    @property
    def max_line_bytes(self) -> int:
        """The longest line."""
        return self.max_body_bytes + ENVELOPE_BYTES


@dataclass(frozen=True)
class Problem(Exception):
    """Why a line cannot be run; `code` and `param` are in OpenAI's style."""

    code: str
    message: str
    param: str | None = None

    def as_json(self, line: int | None) -> dict[str, Any]:
        """Returns an entry of a batch's errors."""
        return {"code": self.code, "line": line, "message": self.message, "param": self.param}


def check(raw: bytes, rules: Rules, seen: set[str]) -> None:
    """Checks a line and adds its id to those seen; raises `Problem` (the first found)."""
    if len(raw) > rules.max_line_bytes:
        raise Problem("line_too_long", f"a line may have {rules.max_line_bytes} bytes at most")
    try:
        fields = json_object(raw)
    except MalformedJson as error:
        raise Problem("invalid_json_line", f"not a JSON object: {error.problem}") from None
    _check_id(fields, seen)
    if fields.get("method") != "POST":
        raise Problem("invalid_method", "method must be 'POST'", "method")
    if fields.get("url") != rules.endpoint:
        raise Problem("mismatched_endpoint", f"url must be '{rules.endpoint}'", "url")
    body = fields.get("body")
    if not isinstance(body, dict):
        raise Problem("missing_required_parameter", "body must be an object", "body")
    if body.get("stream"):
        raise Problem("invalid_value", "a batch has no streams: leave it out", "body.stream")
    _check_model(body, rules)


def _check_id(fields: Mapping[str, Any], seen: set[str]) -> None:
    custom_id = fields.get("custom_id")
    if not isinstance(custom_id, str) or not 0 < len(custom_id) <= MOST_ID_CHARACTERS:
        message = f"custom_id must be a string of 1 to {MOST_ID_CHARACTERS} characters"
        raise Problem("missing_required_parameter", message, "custom_id")
    if custom_id in seen:
        raise Problem("duplicate_custom_id", "an earlier line has this custom_id", "custom_id")
    seen.add(custom_id)


def _check_model(body: Mapping[str, Any], rules: Rules) -> None:
    model = body.get("model")
    if not isinstance(model, str):
        raise Problem("missing_required_parameter", "body.model must be a string", "body.model")
    try:
        rules.resolve(model)
    except UnknownModel as error:
        raise Problem("model_not_found", str(error), "body.model") from None


def answered(line_id: str, custom_id: str, request_id: str, status: int, body: bytes) -> bytes:
    """Returns the line that tells an answer; raises `msgspec.DecodeError` where it is no JSON."""
    one_line = msgspec.Raw(msgspec.json.format(body, indent=-1))
    response = {"status_code": status, "request_id": request_id, "body": one_line}
    said = {"id": line_id, "custom_id": custom_id, "response": response, "error": None}
    return msgspec.json.encode(said)


def unanswered(line_id: str, custom_id: str, code: str, message: str) -> bytes:
    """Returns the line of a request that has no answer."""
    error = {"code": code, "message": message}
    said = {"id": line_id, "custom_id": custom_id, "response": None, "error": error}
    return msgspec.json.encode(said)
