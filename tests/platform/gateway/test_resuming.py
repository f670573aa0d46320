"""A stream whose replicas die, at whatever event, is the stream of one that lived."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.platform.gateway.memory import Memory, View
from tests.platform.gateway.system import CHAT, COMPLETIONS

TEXT = "Grüße an 世界 🙂 END of it. Bye!"
EVENTS = 23
"""Of the longest stream: role, 18 tokens, the end token, usage, [DONE]; and dying after all."""
BOTH = pytest.mark.parametrize("path", [CHAT, COMPLETIONS])


def same(broken: View, unbroken: View, per_chunk: int) -> bool:
    """Whether nothing differs.

    Where a stop string lies over a seam and chunks have several tokens, nobody knows at which of
    them it was complete: all of the chunk are counted.
    """
    assert broken.usage is not None
    assert unbroken.usage is not None
    more = broken.usage[1] - unbroken.usage[1]
    limit = per_chunk if unbroken.stop_reason is not None else 1
    return replace(broken, usage=unbroken.usage) == unbroken and 0 <= more < limit


@BOTH
@pytest.mark.parametrize("per_chunk", [1, 2, 3])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"max_tokens": 9},
        {"max_tokens": 5},
        {"stop": "END of"},
        {"stop": ["世界 🙂", "never"]},
        {"stop": ["D o"], "include_stop_str_in_output": True},
        {"stop": "."},
        {"stop": "not there at all"},
        {"temperature": 0.7, "seed": 5, "frequency_penalty": 1.0},
    ],
)
async def test_a_death_at_any_event_is_not_noticed(
    path: str, per_chunk: int, fields: dict[str, Any]
) -> None:
    memory = Memory(per_chunk=per_chunk)
    unbroken = await memory.stream(path, **{"max_tokens": 100, **fields})
    assert unbroken.is_done
    assert TEXT.startswith(unbroken.text)
    for cut in range(EVENTS):
        broken = await memory.stream(path, [cut], **{"max_tokens": 100, **fields})
        assert same(broken, unbroken, per_chunk), cut
        charged = memory.records.all[-1]
        assert (charged.prompt_tokens, charged.completion_tokens) == broken.usage, cut
        assert charged.status == 200


@BOTH
@pytest.mark.parametrize("fields", [{}, {"stop": "END of"}])
async def test_two_deaths_are_not_noticed_either(path: str, fields: dict[str, Any]) -> None:
    memory = Memory()
    unbroken = await memory.stream(path, max_tokens=100, **fields)
    for first, second in itertools.product(range(0, EVENTS, 2), range(0, EVENTS, 3)):
        broken = await memory.stream(path, [first, second], max_tokens=100, **fields)
        assert broken == unbroken, (first, second)


CASES = st.fixed_dictionaries(
    {
        "text": st.text(
            st.sampled_from('abEND .\n"\\é世🙂\N{REPLACEMENT CHARACTER}'), min_size=1, max_size=24
        ),
        "borders": st.lists(st.integers(1, 4), min_size=1, max_size=8),
        "cuts": st.lists(st.integers(0, 20), max_size=4),
        "stop": st.lists(st.text("abEND世é", min_size=1, max_size=4), max_size=3),
        "keeps": st.booleans(),
        "per_chunk": st.integers(1, 4),
        "max_tokens": st.integers(1, 30),
        "path": st.sampled_from([CHAT, COMPLETIONS]),
    }
)


def tokens_of(text: str, borders: list[int]) -> list[bytes]:
    """Cuts a text's bytes into tokens, within characters, too."""
    data = text.encode()
    tokens: list[bytes] = []
    for size in itertools.cycle(borders):
        if not data:
            return tokens
        tokens.append(data[:size])
        data = data[size:]
    return tokens


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(CASES)
async def test_no_text_no_stop_string_and_no_cut_makes_a_difference(case: dict[str, Any]) -> None:
    tokens = tokens_of(case["text"], case["borders"])
    memory = Memory(replicas=6, tokens=tokens, per_chunk=case["per_chunk"])
    fields = {
        "stop": case["stop"] or None,
        "include_stop_str_in_output": case["keeps"],
        "max_tokens": case["max_tokens"],
    }
    memory.configure(failover={"max_attempts": 6})
    unbroken = await memory.stream(case["path"], **fields)
    broken = await memory.stream(case["path"], case["cuts"], **fields)
    assert same(broken, unbroken, case["per_chunk"])


@BOTH
async def test_an_engine_without_ids_is_continued_by_text(path: str) -> None:
    words = [b"one", b" two", b" three", b" four"]
    memory = Memory(tokens=words, gives_ids=False)
    unbroken = await memory.stream(path, max_tokens=50)
    for cut in range(9):
        broken = await memory.stream(path, [cut], max_tokens=50)
        assert broken.text == unbroken.text == "one two three four"
        assert (broken.finish_reason, broken.is_done) == ("stop", True)


async def test_the_rest_is_asked_for_with_the_same_sampling_and_less_to_say() -> None:
    memory = Memory()
    sampling: dict[str, Any] = {"temperature": 0.7, "top_k": 5, "seed": 11, "min_tokens": 3}
    await memory.stream(cuts=[4], max_completion_tokens=100, user="u", **sampling)
    (_, first_path, first), (_, path, rest) = memory.transport.asked
    assert (first_path, path) == (CHAT, COMPLETIONS)
    assert first["return_token_ids"] is True
    # Role, three tokens; the last of them ends in a whole character: "Grüße".
    assert rest == {
        "model": "small",
        "prompt": [3, 1, 4, 1, 5, 1000, 1001, 1002],
        "max_tokens": 97,
        "temperature": 0.7,
        "top_k": 5,
        "seed": 14,
        "min_tokens": 0,
        "user": "u",
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
    }


async def test_half_a_character_is_generated_again() -> None:
    memory = Memory()
    await memory.stream(cuts=[6], max_tokens=100)  # "Grüße an ", then a third of 世
    _, _, rest = memory.transport.asked[1]
    assert rest["prompt"][5:] == [1000, 1001, 1002, 1003]
    assert rest["max_tokens"] == 96


async def test_without_max_tokens_the_window_bounds_the_rest() -> None:
    memory = Memory()
    await memory.stream(cuts=[4])
    assert memory.transport.asked[1][2]["max_tokens"] == 2048 - 5 - 3


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 2},
        {"logprobs": True},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"response_format": {"type": "json_object"}},
        {"stop": "x", "min_tokens": 2},
    ],
)
async def test_what_cannot_be_resumed_fails_cleanly(fields: dict[str, Any]) -> None:
    memory = Memory()
    memory.cuts[:] = [4]
    _, raw = await memory.ask(stream=True, **fields)
    events = raw.decode().split("\n\n")
    assert json.loads(events[-2].removeprefix("data: "))["error"]["code"] == "replica_lost"
    assert "[DONE]" not in raw.decode()
    assert len(memory.transport.asked) == 1
    assert memory.records.all[-1].status == 503


@pytest.mark.parametrize("stop", ["END of", None])
async def test_an_engine_without_a_tokenizer_cannot_say_what_it_held_back(
    stop: str | None,
) -> None:
    memory = Memory(has_tokenizer=False)
    broken = await memory.stream(cuts=[12], stop=stop, max_tokens=100)
    assert (broken.error == "replica_lost") == (stop is not None)


async def test_resuming_can_be_turned_off() -> None:
    memory = Memory()
    memory.configure(failover={"resumes_streams": False})
    assert (await memory.stream(cuts=[6])).error == "replica_lost"


async def test_a_death_at_every_resume_ends_after_some_attempts() -> None:
    memory = Memory()
    broken = await memory.stream(cuts=[5, 0, 0, 0, 0], max_tokens=100)
    assert broken.error == "replica_lost"
    assert len(memory.transport.asked) == 3
    assert memory.records.all[-1].completion_tokens == 4


async def test_a_client_that_asks_for_ids_gets_them() -> None:
    memory = Memory()
    _, raw = await memory.ask(stream=True, return_token_ids=True)
    assert b'"prompt_token_ids":[3,1,4,1,5]' in raw
    assert b'"token_ids":[1000]' in raw


@BOTH
async def test_the_stream_is_the_one_of_an_engine_not_asked_for_ids(path: str) -> None:
    memory = Memory()
    _, raw = await memory.ask(path, stream=True)
    assert raw == b"".join(memory.engines["r0"].events(path, {}))


async def test_whole_answers_start_again_elsewhere() -> None:
    memory = Memory()
    memory.cuts[:] = [1]
    status, raw = await memory.ask()
    assert status == 200
    assert json.loads(raw)["choices"][0]["message"]["content"] == "Grüße an 世界 🙂"
    assert len({name for name, _, _ in memory.transport.asked}) == 2
