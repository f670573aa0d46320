"""Streams become the events of Anthropic's documentation (Streaming Messages), in its order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnout.gateway.dialects.messages import Messages
from turnout.gateway.errors import ReplicaLost
from turnout.gateway.sse import DONE


def chunk(
    delta: dict[str, Any] | None = None, finish_reason: str | None = None, **more: Any
) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason, **more}
    return event({"choices": [choice]})


def event(fields: dict[str, Any]) -> bytes:
    head = {"id": "chatcmpl-1nZ", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**head, **fields}).encode() + b"\n\n"


USAGE = event(
    {
        "choices": [],
        "usage": {
            "prompt_tokens": 25,
            "completion_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 20},
        },
    }
)
ROLE = chunk({"role": "assistant", "content": ""})
START = """event: message_start
data: {"type":"message_start","message":{"id":"msg_1nZ","type":"message","role":"assistant",\
"model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,\
"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}

"""
USED = """{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":20,\
"output_tokens":15}"""


def translated(*events: bytes) -> str:
    return Messages().events().feed(events).decode()


def test_a_text_comes_in_the_documented_order() -> None:
    got = translated(
        ROLE, chunk({"content": "Hello"}), chunk({"content": "!"}), chunk({}, "stop"), USAGE, DONE
    )
    assert got == START + (
        "event: content_block_start\n"
        'data: {"type":"content_block_start","index":0,'
        '"content_block":{"type":"text","text":""}}\n\n'
        'event: ping\ndata: {"type":"ping"}\n\n'
        "event: content_block_delta\n"
        'data: {"type":"content_block_delta","index":0,'
        '"delta":{"type":"text_delta","text":"Hello"}}\n\n'
        "event: content_block_delta\n"
        'data: {"type":"content_block_delta","index":0,'
        '"delta":{"type":"text_delta","text":"!"}}\n\n'
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
        "event: message_delta\n"
        'data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},'
        f'"usage":{USED}}}\n\n'
        'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )


def kinds(text: str) -> list[Any]:
    """Returns each event's data, shortened to what tells it apart."""
    short = []
    for line in text.splitlines():
        if line.startswith("data: "):
            data = json.loads(line.removeprefix("data: "))
            inner = data.get("delta") or data.get("content_block") or {}
            said = inner.get("partial_json", inner.get("text", inner.get("thinking", "")))
            short.append((data["type"], data.get("index"), inner.get("name") or said))
    return short


def call(index: int, name: str | None = None, arguments: str = "") -> bytes:
    fields: dict[str, Any] = {"index": index, "function": {"arguments": arguments}}
    if name:
        fields |= {"id": f"toolu_{index}", "type": "function"}
        fields["function"]["name"] = name
    return chunk({"tool_calls": [fields]})


def test_text_then_calls_are_blocks_one_after_the_other() -> None:
    got = translated(
        ROLE,
        chunk({"content": "I look."}),
        call(0, "get_weather"),
        call(0, arguments='{"location":'),
        call(0, arguments=' "Paris"}'),
        call(1, "get_time"),
        call(1, arguments="{}"),
        chunk({}, "tool_calls"),
        USAGE,
        DONE,
    )
    assert kinds(got) == [
        ("message_start", None, ""),
        ("content_block_start", 0, ""),
        ("ping", None, ""),
        ("content_block_delta", 0, "I look."),
        ("content_block_stop", 0, ""),
        ("content_block_start", 1, "get_weather"),
        ("content_block_delta", 1, '{"location":'),
        ("content_block_delta", 1, ' "Paris"}'),
        ("content_block_stop", 1, ""),
        ("content_block_start", 2, "get_time"),
        ("content_block_delta", 2, "{}"),
        ("content_block_stop", 2, ""),
        ("message_delta", None, ""),
        ("message_stop", None, ""),
    ]
    assert '{"type":"tool_use","id":"toolu_0","name":"get_weather","input":{}}' in got
    assert '"stop_reason":"tool_use"' in got


def test_thinking_is_a_block_of_its_own() -> None:
    got = translated(chunk({"reasoning": "hm"}), chunk({"content": "4"}), chunk({}, "stop"), DONE)
    assert [each for each in kinds(got) if each[0] == "content_block_delta"] == [
        ("content_block_delta", 0, "hm"),
        ("content_block_delta", 1, "4"),
    ]


@pytest.mark.parametrize(
    ("finish", "more", "told"),
    [
        ("length", {}, '{"stop_reason":"max_tokens","stop_sequence":null}'),
        ("stop", {"stop_reason": "###"}, '{"stop_reason":"stop_sequence","stop_sequence":"###"}'),
    ],
)
def test_the_stop_reason_comes_at_the_end(finish: str, more: Any, told: str) -> None:
    assert f'"delta":{told}' in translated(chunk({"content": "x"}, finish, **more), DONE)


def test_an_empty_answer_has_no_block() -> None:
    names = [each[0] for each in kinds(translated(ROLE, chunk({}, "stop"), USAGE, DONE))]
    assert names == ["message_start", "message_delta", "message_stop"]


def test_events_do_not_depend_on_how_the_stream_is_cut() -> None:
    events = [ROLE, chunk({"content": "Grüße"}), call(0, "f"), chunk({}, "tool_calls"), USAGE, DONE]
    one = Messages().events()
    assert b"".join(one.feed([each]) for each in events).decode() == translated(*events)


def test_comments_pass_and_an_engines_error_ends_the_stream() -> None:
    broken = event({"error": {"message": "boom", "type": "BadRequestError", "code": 400}})
    got = translated(b": waiting\n\n", ROLE, broken, chunk({"content": "late"}), DONE)
    assert got == ": waiting\n\n" + START + (
        "event: error\n"
        'data: {"type":"error","error":{"type":"invalid_request_error","message":"boom"}}\n\n'
    )


def test_a_stream_that_breaks_off_ends_with_an_error_event() -> None:
    error = ReplicaLost("the replica of 'm' was lost while it answered", 1)
    kind, data = Messages().error_event(error).decode().strip().split("\n")
    assert kind == "event: error"
    assert json.loads(data.removeprefix("data: "))["error"]["type"] == "overloaded_error"
