"""Events read without parsing say what they say when parsed, or are left to the parser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.gateway.resume.chunk import read, without_ids
from turnout.gateway.resume.template import Template, template_of


def event(text: str, ids: list[int] | None, is_chat: bool = True, **more: Any) -> bytes:
    said: dict[str, Any] = {"delta": {"content": text}} if is_chat else {"text": text}
    choice = {"index": 0, **said, "logprobs": None, "finish_reason": None, "token_ids": ids}
    chunk = {"id": "x", "created": 1, "model": "m", "choices": [choice | more]}
    return (
        b"data: " + json.dumps(chunk, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
    )


def template(sample: bytes) -> Template:
    chunk = read(sample)
    assert chunk is not None
    found = template_of(sample, chunk)
    assert found is not None
    return found


@pytest.mark.parametrize("is_chat", [True, False])
@pytest.mark.parametrize("sample_ids", [[1], [7, 8], None])
@settings(deadline=None)  # a busy machine
@given(text=st.text(max_size=8), ids=st.lists(st.integers(0, 2**31), max_size=3))
def test_a_template_reads_what_a_parser_reads_or_nothing(
    is_chat: bool, sample_ids: list[int] | None, text: str, ids: list[int]
) -> None:
    known = template(event("word", sample_ids, is_chat))
    other = event(text, ids if sample_ids else None, is_chat)
    found = known.read(other)
    if found is not None:
        assert found == (text, ids if sample_ids else [], without_ids(other))
    elif sample_ids and ids:
        assert json.dumps(text, ensure_ascii=False) != f'"{text}"'  # it has an escape


@pytest.mark.parametrize(
    "other",
    [
        event("a", [1], finish_reason="stop"),
        event("a", [1], index=1),
        event("a", [1], delta={"content": "a", "tool_calls": []}),
        event("a", [1])[:-2] + b" \n\n",
        event("a", None),
        event('a"', [1]),
        b'data: {"error":{"code":500}}\n\n',
        b"data: [DONE]\n\n",
        b"",
    ],
)
def test_another_form_is_not_read(other: bytes) -> None:
    assert template(event("word", [1])).read(other) is None


@pytest.mark.parametrize(
    "sample",
    [
        event("", [1]),
        event("a", [1], finish_reason="stop"),
        event("a", [1], index=1),
        event('"', [1]),
        event("a", [1], delta={"role": "assistant", "content": "a"}),
        event("a", [1], delta={"content": "a", "reasoning": "b"}),
    ],
)
def test_only_a_plain_tokens_event_makes_a_template(sample: bytes) -> None:
    chunk = read(sample)
    assert chunk is not None
    assert template_of(sample, chunk) is None
