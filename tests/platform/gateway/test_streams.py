"""Streams reach the client as the engine sent them; usage is always metered, shown if asked."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import openai
import pytest
from tests.platform.gateway.system import CHAT, COMPLETIONS, events_of

if TYPE_CHECKING:
    from tests.platform.gateway.fake_engine import FakeEngine
    from tests.platform.gateway.system import System

USAGE = {"include_usage": True}


def bytewise(data: bytes) -> list[bytes]:
    """One byte a write: every event and every character is cut wherever it can be."""
    return [data[at : at + 1] for at in range(len(data))]


async def test_a_stream_is_the_engines_own_bytes(system: System, small: FakeEngine) -> None:
    answer = await system.chat(stream=True)
    assert answer.content == b"".join(small.events(CHAT, {}))
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
@pytest.mark.parametrize("joins_last_events", [False, True])
@pytest.mark.parametrize("n", [1, 2])
async def test_usage_is_asked_for_metered_and_dropped(
    system: System, small: FakeEngine, path: str, joins_last_events: bool, n: int
) -> None:
    small.joins_last_events = joins_last_events
    prompt = {"prompt": "x"} if path == COMPLETIONS else {"messages": [{"role": "user"}]}
    answer = await system.post({"model": "small", "stream": True, "n": n, **prompt}, path)
    assert small.generations[0]["stream_options"] == USAGE
    assert answer.content == b"".join(small.events(path, {"n": n}))
    assert "usage" not in answer.text
    assert await system.metric("turnout_tokens_total", kind="prompt") == 11
    assert await system.metric("turnout_tokens_total", kind="completion") == 4 * n


@pytest.mark.parametrize("joins_last_events", [False, True])
async def test_usage_is_shown_to_a_client_that_asks(
    system: System, small: FakeEngine, joins_last_events: bool
) -> None:
    small.joins_last_events = joins_last_events
    answer = await system.chat(stream=True, stream_options=USAGE)
    events = events_of(answer.text)
    assert json.loads(events[-2])["usage"]["completion_tokens"] == 4
    assert events[-1] == "[DONE]"
    assert await system.metric("turnout_tokens_total", kind="completion") == 4


@pytest.mark.parametrize("options", [{"continuous_usage_stats": True}, {"include_usage": False}])
async def test_other_stream_options_are_kept(
    system: System, small: FakeEngine, options: dict[str, Any]
) -> None:
    await system.chat(stream=True, stream_options=options)
    assert small.generations[0]["stream_options"] == {**options, **USAGE}


async def test_a_text_that_looks_like_usage_is_not_dropped(
    system: System, small: FakeEngine
) -> None:
    small.words = ('"choices":[]', 'data: {"choices":[],"usage":{}}', "\n\ndata: [DONE]\n\n")
    answer = await system.chat(stream=True)
    assert answer.content == b"".join(small.events(CHAT, {}))


async def test_characters_cut_across_chunks_arrive_whole(system: System, small: FakeEngine) -> None:
    small.pieces = bytewise
    answer = await system.chat(stream=True)
    assert answer.content == b"".join(small.events(CHAT, {}))


async def test_tokens_are_passed_on_as_they_come(system: System, small: FakeEngine) -> None:
    small.delay_s = 0.05
    async with system.streaming() as answer:
        chunks = answer.aiter_bytes()
        first = await anext(chunks)
        assert small.running == 1  # the engine is still at it
        assert first == small.events(CHAT, {})[0]
        rest = [chunk async for chunk in chunks]
    assert len(rest) > 3


async def test_64_streams_run_at_once(system: System, small: FakeEngine) -> None:
    small.delay_s = 0.05
    answers = await asyncio.gather(*(system.chat(stream=True) for _ in range(64)))
    expected = b"".join(small.events(CHAT, {}))
    assert all(answer.content == expected for answer in answers)
    assert small.most_running == 64
    assert await system.metric("turnout_requests_total", status="200") == 64
    assert await system.metric("turnout_tokens_total", kind="completion") == 64 * 4


async def test_the_openai_client_reads_answers_streams_and_errors(
    system: System, small: FakeEngine
) -> None:
    async with openai.AsyncOpenAI(
        base_url=f"{system.url}/v1", api_key="any", max_retries=0
    ) as client:
        ask: Any = {"model": "auto", "messages": [{"role": "user", "content": "easy"}]}
        whole = await client.chat.completions.create(**ask)
        assert whole.choices[0].message.content == "Grüße an 世界 🙂"
        stream = await client.chat.completions.create(
            **ask, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert text == "Grüße an 世界 🙂"
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.prompt_tokens == 11
        with pytest.raises(openai.NotFoundError, match="models here: auto, small, large, tiny"):
            await client.chat.completions.create(**{**ask, "model": "gpt-9"})
        small.dies_after = 3
        broken = await client.chat.completions.create(**ask, stream=True)
        with pytest.raises(openai.APIError, match="was lost while it answered"):
            [chunk async for chunk in broken]
