"""How an answer goes on after its replica was lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnout.gateway.request import parse
from turnout.gateway.resume.chunk import read
from turnout.gateway.resume.plan import End, FromIds, FromText, GiveUp, Step, next_step
from turnout.gateway.resume.progress import Progress


def step(events: list[dict[str, Any]], window: int = 100, **fields: Any) -> Step:
    """Returns the step after these choices of a chat's stream, whose prompt has three tokens."""
    body = {"model": "m", "messages": [{"role": "user"}], "stream": True, **fields}
    request = parse("chat", json.dumps(body).encode(), ("min_tokens", "return_token_ids"))
    progress = Progress()
    first: dict[str, Any] = {"choices": [{"delta": {"role": "assistant", "content": ""}}]}
    for chunk in ({**first, "prompt_token_ids": [7, 8, 9]}, *({"choices": [e]} for e in events)):
        taken = read(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        assert taken is not None
        progress.take(taken)
    return next_step(request, progress, window)


def said(text: str, *ids: int, **more: Any) -> dict[str, Any]:
    return {"index": 0, "delta": {"content": text}, "token_ids": list(ids), **more}


def test_it_goes_on_after_the_last_id_whose_text_came() -> None:
    assert step([said("a", 1), said("b", 2), said("", 3)], max_tokens=10) == FromIds(
        keep=2, max_tokens=8, hidden=0, unsure=0, because="after 2 tokens"
    )


def test_a_finished_answer_only_needs_its_end() -> None:
    assert step([said("a", 1), said("", 2, finish_reason="stop")]) == End(
        None, "the answer was complete"
    )


def test_all_tokens_without_a_finish_are_an_answer_that_is_too_long() -> None:
    assert step([said("a", 1), said("b", 2)], max_tokens=2) == End(
        "length", "max_tokens was reached"
    )


def test_the_window_bounds_an_answer_without_max_tokens() -> None:
    found = step([said("a", 1)], window=50)
    assert isinstance(found, FromIds)
    assert found.max_tokens == 50 - 3 - 1


def test_held_back_characters_are_one_less_than_the_longest_stop_string() -> None:
    found = step([said("a", 1)], stop=["END", "."], max_tokens=9)
    assert isinstance(found, FromIds)
    assert (found.hidden, found.needs_text) == (2, True)


def test_of_several_ids_the_last_may_be_half_a_character() -> None:
    found = step([said("a", 1, 2, 3)], max_tokens=9)
    assert isinstance(found, FromIds)
    assert (found.unsure, found.needs_text) == (3, True)
    assert (found.after(2).keep, found.after(2).max_tokens) == (2, 7)


def test_text_without_ids_is_continued_as_text() -> None:
    body = {"model": "m", "messages": [{"role": "user"}], "stream": True, "max_tokens": 5}
    request = parse("chat", json.dumps(body).encode(), ())
    progress = Progress()
    taken = read(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n')
    assert taken is not None
    progress.take(taken)
    assert next_step(request, progress, 100) == FromText(4, "after 1 chunks of text")


@pytest.mark.parametrize(
    ("delta", "why"),
    [
        ({"reasoning": "hm", "content": None}, "parser"),
        ({"reasoning_content": "hm"}, "parser"),
        ({"tool_calls": [{"index": 0}]}, "parser"),
        ({}, "parser"),
    ],
)
def test_what_a_parser_has_touched_is_given_up(delta: dict[str, Any], why: str) -> None:
    found = step([{"index": 0, "delta": delta, "token_ids": [1]}], max_tokens=9)
    assert isinstance(found, GiveUp)
    assert why in found.because


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"n": 2}, "'n' is above 1"),
        ({"tools": [{}]}, "'tools'"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "more than text"),
        ({"tool_choice": "auto"}, "'tool_choice'"),
        ({"response_format": {"type": "json_object"}}, "'response_format'"),
        ({"logprobs": True}, "'logprobs'"),
        ({"stop": "x", "min_tokens": 3}, "'min_tokens'"),
        ({"stream_options": {"continuous_usage_stats": True}}, "every chunk"),
    ],
)
def test_what_cannot_be_resumed_is_given_up(fields: dict[str, Any], why: str) -> None:
    found = step([said("a", 1)], **fields)
    assert isinstance(found, GiveUp)
    assert why in found.because


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [], "tool_choice": "none"},
        {"response_format": {"type": "text"}},
        {"logprobs": False},
        {"user": "u", "metadata": {"a": 1}, "seed": 1, "logit_bias": {"1": 2}},
        {"n": 1, "stop": None},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
    ],
)
def test_what_says_nothing_does_no_harm(fields: dict[str, Any]) -> None:
    assert isinstance(step([said("a", 1)], **fields), FromIds)
