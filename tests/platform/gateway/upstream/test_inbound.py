"""Servers write event streams in their own ways; what comes out is written in one."""

from __future__ import annotations

import json

import pytest

from turnout.gateway.upstream.inbound import Events, whole

HELLO = '{"id":"1","model":"theirs","choices":[{"index":0,"delta":{"content":"Hel\\u006co"}}]}'
END = '{"id":"1","model":"theirs","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
USED = '{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}'
LAST = '{"id":"1","model":"theirs","choices":[],"usage":' + USED + "}"
ENDED = END.replace('"stop"}]', '"stop"}],"usage":' + USED)
VLLM = f"data: {HELLO}\n\ndata: {END}\n\ndata: {LAST}\n\ndata: [DONE]\n\n"
STREAMS = {
    "vllm": VLLM,
    "llama-cpp-python: CRLF and pings": VLLM.replace("\n", "\r\n") + ": ping\r\n\r\n",
    "tgi: no space": VLLM.replace("data: ", "data:"),
    "groq, mistral: usage with the end": f"data: {HELLO}\n\ndata: {ENDED}\n\ndata: [DONE]\n\n",
    "named events": VLLM.replace("data: {", "event: chunk\ndata: {"),
    "no [DONE]": VLLM.replace("data: [DONE]\n\n", ""),
    "no [DONE] and no last line": VLLM.replace("\n\ndata: [DONE]\n\n", ""),
    "azure: an empty first chunk": 'data: {"choices":[],"id":""}\n\n' + VLLM,
}


def read(stream: bytes, cut: int) -> str:
    events = Events("mine")
    pieces = [events.feed(stream[at : at + cut]) for at in range(0, len(stream), cut)]
    return b"".join([*pieces, events.end()]).decode()


@pytest.mark.parametrize("cut", [1, 7, 10_000])
@pytest.mark.parametrize("kind", STREAMS)
def test_streams_of_every_kind_come_out_alike(kind: str, cut: int) -> None:
    *events, done, nothing = read(STREAMS[kind].encode(), cut).split("\n\n")
    assert (done, nothing) == ("data: [DONE]", "")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert [chunk["model"] for chunk in chunks] == ["mine"] * 3
    assert chunks[0]["choices"][0]["delta"]["content"] == "Hello"
    assert chunks[1]["choices"][0]["finish_reason"] == "stop"
    assert [chunk.get("usage") for chunk in chunks] == [None, None, json.loads(USED)]
    assert chunks[2]["choices"] == []


def test_a_stream_that_stops_short_gets_no_end() -> None:
    assert "[DONE]" not in read(f"data: {HELLO}\n\n".encode(), 5)


def test_of_two_answers_both_must_have_ended() -> None:
    second = HELLO.replace('"index":0', '"index":1')
    assert "[DONE]" not in read(f"data: {HELLO}\n\ndata: {second}\n\ndata: {END}\n\n".encode(), 9)


@pytest.mark.parametrize(
    "said", ['{"error": {"message": "secret"}}', "secret", '{"choices": "secret"}']
)
def test_its_failures_are_told_without_its_words(said: str) -> None:
    told = read(f"data: {said}\n\n".encode(), 100)
    assert json.loads(told.removeprefix("data: "))["error"]["code"] == 502
    assert "secret" not in told


def test_a_whole_answer_changes_its_name_and_nothing_else() -> None:
    data = b'{"model":"theirs","choices":[{"x":1.50,"y":"\\u00fc"}],"usage":{"a":1e3}}'
    assert whole(data, "mine") == data.replace(b"theirs", b"mine")


@pytest.mark.parametrize("data", [b"", b"[]", b"<html>", b"{}", b'{"error":{},"choices":[]}'])
def test_what_is_no_answer_is_none(data: bytes) -> None:
    assert whole(data, "mine") is None
