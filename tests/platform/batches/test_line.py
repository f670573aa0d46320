"""What one line of a batch must say, and what is said of it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from turnout.batches.line import Line, Problem, Rules, answered, check, unanswered
from turnout.gateway.errors import UnknownModel

CHAT = "/v1/chat/completions"


def resolve(model: str) -> str:
    if model != "small":
        raise UnknownModel(model, ["small"])
    return model


RULES = Rules(CHAT, 1000, resolve)
GOOD: dict[str, Any] = {
    **{"custom_id": "a", "method": "POST", "url": CHAT},
    "body": {"model": "small", "messages": []},
}


def problem_of(raw: bytes, seen: set[str] | None = None) -> tuple[str, str | None]:
    with pytest.raises(Problem) as caught:
        check(raw, RULES, set() if seen is None else seen)
    return caught.value.code, caught.value.param


def test_a_good_line_passes_and_its_id_is_seen() -> None:
    seen: set[str] = set()
    check(json.dumps(GOOD).encode(), RULES, seen)
    assert seen == {"a"}


@pytest.mark.parametrize(
    ("changes", "code", "param"),
    [
        ({"custom_id": None}, "missing_required_parameter", "custom_id"),
        ({"custom_id": ""}, "missing_required_parameter", "custom_id"),
        ({"custom_id": "x" * 257}, "missing_required_parameter", "custom_id"),
        ({"custom_id": 7}, "missing_required_parameter", "custom_id"),
        ({"method": "GET"}, "invalid_method", "method"),
        ({"url": "/v1/completions"}, "mismatched_endpoint", "url"),
        ({"body": []}, "missing_required_parameter", "body"),
        ({"body": {}}, "missing_required_parameter", "body.model"),
        ({"body": {"model": "none"}}, "model_not_found", "body.model"),
        ({"body": {"model": "small", "stream": True}}, "invalid_value", "body.stream"),
    ],
)
def test_what_a_line_lacks_is_told_by_its_field(
    changes: dict[str, Any], code: str, param: str
) -> None:
    assert problem_of(json.dumps({**GOOD, **changes}).encode()) == (code, param)


@pytest.mark.parametrize(
    "raw", [b"{", b"[]", b"\xff", b'{"a": NaN}', b"[" * 2000, b'{"a": "\\ud800"}']
)
def test_what_is_no_json_object_is_told(raw: bytes) -> None:
    assert problem_of(raw) == ("invalid_json_line", None)


def test_an_id_that_was_there_before_is_told() -> None:
    assert problem_of(json.dumps(GOOD).encode(), {"a"}) == ("duplicate_custom_id", "custom_id")


def test_a_line_that_is_too_long_is_told() -> None:
    assert problem_of(b" " * (RULES.max_line_bytes + 1)) == ("line_too_long", None)


def test_the_body_goes_out_with_the_very_bytes_it_had() -> None:
    raw = b'{"custom_id": "a", "body":  {"x": 1.0e0,  "y":"\\u00e9"}, "more": 1}'
    line = msgspec.json.decode(raw, type=Line)
    assert bytes(line.body) == b'{"x": 1.0e0,  "y":"\\u00e9"}'


def test_an_answer_becomes_one_line_in_openais_shape() -> None:
    said = answered("batch_req_1", "a", "req-1", 200, b'{\n "big": 123456789012345678901\n}\n')
    assert said == (
        b'{"id":"batch_req_1","custom_id":"a","response":{"status_code":200,"request_id":"req-1",'
        b'"body":{"big":123456789012345678901}},"error":null}'
    )


def test_an_answer_that_is_no_json_cannot_be_told() -> None:
    with pytest.raises(msgspec.DecodeError):
        answered("batch_req_1", "a", "req-1", 200, b"<html>")


def test_a_request_without_an_answer_has_an_error() -> None:
    assert json.loads(unanswered("batch_req_1", "a", "batch_expired", "m")) == {
        "id": "batch_req_1",
        "custom_id": "a",
        "response": None,
        "error": {"code": "batch_expired", "message": "m"},
    }
