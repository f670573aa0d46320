"""Whatever body a client sends, and wherever in it something is wrong: an answer or a 4xx."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.platform.gateway.system import http_post

from turnout.gateway.api import BODIES, PATHS
from turnout.gateway.endpoints import DIALECTS, QUESTIONS

if TYPE_CHECKING:
    from tests.platform.gateway.fuzz.conftest import Served

quick = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
PATH = st.sampled_from([*DIALECTS, *QUESTIONS])
TOOL = {"type": "function", "name": "f", "function": {"name": "f", "parameters": {}}}
SAID = [
    {"role": "user", "content": [{"type": "text", "text": "easy"}]},
    {"role": "assistant", "content": "hm", "tool_calls": []},
    {"role": "user", "content": [{"type": "input_text", "text": "easy"}]},
    {"role": "tool", "tool_call_id": "c", "content": "1"},
]
KNOWN: dict[str, Any] = {
    "model": "small",
    "messages": SAID[:1],
    "prompt": "easy",
    "input": SAID[2:3],
    "tokens": [1, 2],
    "max_tokens": 5,
}
NEEDED = {
    PATHS["chat"]: ("model", "messages"),
    PATHS["completions"]: ("model", "prompt"),
    PATHS["embeddings"]: ("model", "input"),
    "/v1/messages": ("model", "messages", "max_tokens"),
    "/v1/messages/count_tokens": ("model", "messages"),
    "/v1/responses": ("model", "input"),
    "/tokenize": ("model", "prompt"),
    "/detokenize": ("model", "tokens"),
}


def plain_body(path: str) -> dict[str, Any]:
    """Returns a body that is taken at a path."""
    known = KNOWN if path != PATHS["embeddings"] else {**KNOWN, "input": ["easy", "hard"]}
    return {name: known[name] for name in NEEDED[path]}


LEAF = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 1e308, -0.0, 1e-320])
    | st.floats()
    | st.text(st.characters(), max_size=12)
    | st.sampled_from(["\ud800", "\x00", "\u2028", "data:,", "auto", "user"])
)
JSON = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=5,
)
FIELDS = sorted({name for body in BODIES.values() for name in body.model_fields})
MORE = st.dictionaries(
    st.sampled_from([*FIELDS, "system", "input", "text", "thinking", "top_k", "metadata"]),
    JSON | st.sampled_from([[TOOL], SAID, {"type": "json_schema"}, {"format": {"type": "x"}}]),
    max_size=4,
)


def is_clean(statuses: list[int]) -> bool:
    """Whether a request got one answer, and it is no fault of the gateway's."""
    return len(statuses) == 1 and (statuses[0] == 200 or 400 <= statuses[0] < 500)


def answered(served: Served, path: str, body: bytes) -> list[int]:
    from tests.platform.gateway.fuzz.conftest import statuses  # noqa: PLC0415 - loaded by then

    head, _, data = http_post(body, path).partition(b"\r\n\r\n")
    return statuses(served.ask(head + b"\r\nconnection: close\r\n\r\n" + data))


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the ways to every value inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for name, each in inside:
        found.append((*at, name))
        if isinstance(each, dict | list):
            found += places(each, (*at, name))
    return found


def with_value(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """Returns a copy with another value at a place."""
    copy = json.loads(json.dumps(value))
    inside = copy
    for step in at[:-1]:
        inside = inside[step]
    inside[at[-1]] = new
    return copy


@pytest.mark.parametrize("path", NEEDED)
def test_without_a_fault_there_is_an_answer(served: Served, path: str) -> None:
    assert answered(served, path, json.dumps(plain_body(path)).encode()) == [200]


@quick
@given(PATH, MORE, st.booleans())
def test_any_further_field_is_taken_or_refused(
    served: Served, path: str, more: dict[str, Any], stream: bool
) -> None:
    body = {**plain_body(path), "stream": stream, **more}
    assert is_clean(answered(served, path, json.dumps(body).encode()))


@quick
@given(PATH, JSON, st.data())
def test_any_value_in_any_place_is_taken_or_refused(
    served: Served, path: str, new: Any, data: st.DataObject
) -> None:
    body = plain_body(path)
    if "messages" in body:
        body |= {"messages": SAID, "tools": [TOOL]}
    at = data.draw(st.sampled_from(places(body)))
    assert is_clean(answered(served, path, json.dumps(with_value(body, at, new)).encode()))


@quick
@given(PATH, st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_in_a_body_are_taken_or_refused(
    served: Served, path: str, noise: bytes, at: int
) -> None:
    body = json.dumps(plain_body(path)).encode()
    assert is_clean(answered(served, path, body[:at] + noise + body[at:]))


def chat_with(field: bytes) -> bytes:
    return b'{"model":"small","messages":[{"role":"user","content":"easy"}],' + field + b"}"


HOSTILE = {
    "nested 10,000 deep": (
        chat_with(b'"metadata":{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}"),
        400,
    ),
    "objects nested 10,000 deep": (
        chat_with(b'"metadata":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
        400,
    ),
    "opened 100,000 times": (b"[" * 100_000, 400),
    "NaN": (chat_with(b'"temperature":NaN'), 400),
    "-Infinity": (chat_with(b'"logit_bias":{"1":-Infinity}'), 400),
    "a float too large": (chat_with(b'"temperature":1e999'), 400),
    "a number of 100,000 digits": (chat_with(b'"seed":' + b"9" * 100_000), 400),
    "a seed above 64 bits": (chat_with(b'"seed":18446744073709551616'), 400),
    "an overlong UTF-8 form": (chat_with(b'"user":"\xc0\xaf"'), 400),
    "half a UTF-8 character": (chat_with(b'"user":"\xf0\x9f"'), 400),
    "half a surrogate pair": (chat_with(b'"user":"\\ud83d"'), 400),
    "UTF-16": ('{"model":"small"}'.encode("utf-16"), 400),
    "a byte order mark": (b"\xef\xbb\xbf{}", 400),
    "nothing": (b"", 400),
    "white space": (b" \n" * 1000, 400),
    "two objects": (b"{}{}", 400),
    "null": (b"null", 400),
    "a comment": (b"{/**/}", 400),
    "too much": (b" " * ((1 << 20) + 1), 413),
    "100,000 messages of a wrong type": (
        b'{"model":"small","messages":[' + b"7," * 100_000 + b"7]}",
        400,
    ),
    "50,000 fields": (
        b"{" + b",".join(b'"f%d":1' % number for number in range(50_000)) + b"}",
        400,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_is_refused(served: Served, name: str) -> None:
    body, status = HOSTILE[name]
    assert answered(served, PATHS["chat"], body) == [status]


def test_numbers_of_any_size_in_a_body_reach_the_engine_or_are_refused(served: Served) -> None:
    """Every place that a translated or continued body is written from."""
    for path, needed in NEEDED.items():
        for number in (2**63, 2**64, -(2**70), 10**30):
            body = {name: KNOWN[name] for name in needed}
            field = "metadata" if path.startswith("/v1") else "top_k"
            body[field] = {"user_id": "u", "a": number} if field == "metadata" else number
            assert is_clean(answered(served, path, json.dumps(body).encode())), (path, number)
