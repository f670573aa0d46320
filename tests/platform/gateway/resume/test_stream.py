"""What a client sees of an engine's stream, and what is remembered of it."""

from __future__ import annotations

import json

import pytest

from turnout.gateway.resume.chunk import Author, read, without_ids
from turnout.gateway.resume.progress import Progress
from turnout.gateway.resume.stop import StopScanner
from turnout.gateway.resume.stream import ContinuedStream, EngineStream
from turnout.gateway.sse import DONE, Usage

# As vLLM 0.29 wrote them for SmolLM2, with and without return_token_ids.
WITH = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"small",'
    b'"choices":[{"index":0,"delta":{"content":" sea"},"logprobs":null,"finish_reason":null,'
    b'"token_ids":[4213,7]}]}\n\n'
)
WITHOUT = WITH.replace(b"[4213,7]", b"null")
FIRST = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"small",'
    b'"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,'
    b'"finish_reason":null}],"prompt_token_ids":[1,2,3]}\n\n'
)


def reading(*events: bytes, shows_usage: bool = True) -> tuple[list[bytes], Progress]:
    progress = Progress()
    stream = EngineStream(progress, shows_usage=shows_usage, shows_ids=False)
    return stream.feed(b"".join(events)), progress


def test_ids_are_taken_out_of_an_event_and_remembered() -> None:
    out, progress = reading(FIRST, WITH)
    assert out == [FIRST.replace(b"[1,2,3]", b"null"), WITHOUT]
    assert (progress.prompt_ids, progress.ids.tolist()) == ([1, 2, 3], [4213, 7])
    assert (progress.text, progress.commit, progress.commit_size) == (" sea", 2, 2)
    assert progress.used == Usage(3, 2)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            b'data: {"prompt_token_ids": [1, 2], "token_ids" : [3]}\n\n',
            b'data: {"prompt_token_ids":null, "token_ids":null}\n\n',
        ),
        (
            b'data: {"a":"\\"token_ids\\":[1]","token_ids":[1]}\n\n',
            b'data: {"a":"\\"token_ids\\":[1]","token_ids":null}\n\n',
        ),
    ],
)
def test_ids_are_found_however_they_are_spelled(event: bytes, expected: bytes) -> None:
    assert without_ids(event) == expected


@pytest.mark.parametrize(
    "event",
    [
        b": comment\n\n",
        b"data: {\n\n",
        b'data: {"choices": 3}\n\n',
        b"data: []\n\n",
        b"\xff\n\n",
        b'data: "\xff"\n\n',
        DONE,
    ],
)
def test_what_is_no_chunk_is_passed_on(event: bytes) -> None:
    assert read(event) is None
    assert reading(event)[0] == [event]


def test_a_chunk_that_is_only_there_for_its_ids_is_left_out() -> None:
    hidden = WITH.replace(b'{"content":" sea"}', b"{}")
    out, progress = reading(FIRST, hidden)
    assert len(out) == 1
    assert progress.is_odd


def test_an_engine_that_dies_says_so_and_nothing_after_it_counts() -> None:
    stream = EngineStream(Progress(), shows_usage=True, shows_ids=False)
    died = b'data: {"error":{"message":"dead","code":500}}\n\n'
    assert stream.feed(WITH + died + DONE) == [WITHOUT]
    assert stream.failure == "error 500 in its stream"
    assert not stream.is_done


def test_the_requests_own_fault_is_its_clients_to_see() -> None:
    told = b'data: {"error":{"message":"bad","code":400}}\n\n'
    assert reading(told, DONE)[0] == [told, DONE]


def test_the_rest_comes_in_the_shape_of_the_beginning() -> None:
    _, progress = reading(FIRST, WITH)
    assert progress.head is not None
    stream = ContinuedStream(
        progress,
        Author(True, progress.head),
        StopScanner((), keeps_stop=False),
        shows_usage=True,
        shows_ids=False,
    )
    rest = (
        b'data: {"id":"cmpl-9","object":"text_completion","created":7,"model":"x","choices":'
        b'[{"index":0,"text":" \\"salt\\"","logprobs":null,"finish_reason":"length",'
        b'"stop_reason":null,"prompt_token_ids":[1,2,3,4213,7],"token_ids":[8]}]}\n\n'
        b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}\n\n'
    )
    chunk, usage, done = (*stream.feed(rest + DONE),)
    told = json.loads(chunk.removeprefix(b"data: "))
    assert told == {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "small",
        "choices": [
            {
                "index": 0,
                "delta": {"content": ' "salt"'},
                "logprobs": None,
                "finish_reason": "length",
                "stop_reason": None,
                "token_ids": None,
            }
        ],
    }
    counts = json.loads(usage.removeprefix(b"data: "))["usage"]
    assert counts == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
    assert (done, stream.is_done) == (DONE, True)
