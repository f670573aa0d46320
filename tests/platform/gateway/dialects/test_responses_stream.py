"""Streams become the events of OpenAI's documentation (Responses, Streaming), in its order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from turnout.gateway.dialects.responses import Responses
from turnout.gateway.dialects.responses_stream import ResponseEvents
from turnout.gateway.errors import ReplicaLost
from turnout.gateway.sse import DONE

AS_DOCUMENTED: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def chunk(delta: dict[str, Any] | None = None, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason}
    return event({"choices": [choice]})


def event(fields: dict[str, Any]) -> bytes:
    head = {"id": "chatcmpl-67c9", "object": "chat.completion.chunk", "created": 9, "model": "m"}
    return b"data: " + json.dumps({**head, **fields}).encode() + b"\n\n"


USAGE = event({"choices": [], "usage": {"prompt_tokens": 37, "completion_tokens": 11}})
ROLE = chunk({"role": "assistant", "content": ""})


def translated(*events: bytes, **asked: Any) -> list[dict[str, Any]]:
    return read(ResponseEvents(asked).feed(events))


def read(data: bytes) -> list[dict[str, Any]]:
    """Returns the events' data; each is one of OpenAI's, under its own name."""
    told = []
    for each in data.decode().strip().split("\n\n"):
        name, fields = each.split("\n")
        told.append(json.loads(fields.removeprefix("data: ")))
        assert name == f"event: {told[-1]['type']}"
        AS_DOCUMENTED.validate_python(told[-1])
    return told


def less(told: dict[str, Any]) -> dict[str, Any]:
    """Returns an event without its number and its type's prefix."""
    kind = told["type"].removeprefix("response.")
    return {**told, "type": kind} | {"sequence_number": None}


def test_a_text_comes_in_the_documented_order() -> None:
    told = translated(
        ROLE,
        chunk({"content": "Hi"}),
        chunk({"content": " there!"}),
        chunk({}, "stop"),
        USAGE,
        DONE,
        instructions="Be kind.",
    )
    assert [each["sequence_number"] for each in told] == list(range(len(told)))
    place: dict[str, Any] = {"item_id": "msg_67c9_0", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    whole_part = {**part, "text": "Hi there!"}
    item = {"id": "msg_67c9_0", "type": "message", "role": "assistant"}
    done = {**item, "status": "completed", "content": [whole_part]}
    assert [less(each) for each in told[2:-1]] == [
        {"sequence_number": None, **each}
        for each in (
            {
                "type": "output_item.added",
                "output_index": 0,
                "item": {**item, "status": "in_progress", "content": []},
            },
            {"type": "content_part.added", **place, "part": part},
            {"type": "output_text.delta", **place, "delta": "Hi", "logprobs": []},
            {"type": "output_text.delta", **place, "delta": " there!", "logprobs": []},
            {"type": "output_text.done", **place, "text": "Hi there!", "logprobs": []},
            {"type": "content_part.done", **place, "part": whole_part},
            {"type": "output_item.done", "output_index": 0, "item": done},
        )
    ]
    assert [each["type"] for each in told[:2]] == ["response.created", "response.in_progress"]
    for each in told[:2]:
        assert each["response"]["status"] == "in_progress"
        assert each["response"]["output"] == []
        assert each["response"]["instructions"] == "Be kind."
    assert told[-1]["type"] == "response.completed"
    response = told[-1]["response"]
    assert response["id"] == told[0]["response"]["id"] == "resp_67c9"
    assert response["status"] == "completed"
    assert response["output"] == [done]
    assert (response["usage"]["input_tokens"], response["usage"]["output_tokens"]) == (37, 11)


def call(index: int, name: str | None = None, arguments: str = "") -> bytes:
    fields: dict[str, Any] = {"index": index, "function": {"arguments": arguments}}
    if name:
        fields |= {"id": f"call_{index}", "type": "function"}
        fields["function"]["name"] = name
    return chunk({"tool_calls": [fields]})


def test_calls_come_in_the_documented_order() -> None:
    told = translated(
        ROLE,
        call(0, "get_weather"),
        call(0, arguments='{"location":'),
        call(0, arguments='"Paris"}'),
        call(1, "get_time"),
        chunk({}, "tool_calls"),
        USAGE,
        DONE,
    )
    assert [(less(each)["type"], each.get("output_index")) for each in told] == [
        ("created", None),
        ("in_progress", None),
        ("output_item.added", 0),
        ("function_call_arguments.delta", 0),
        ("function_call_arguments.delta", 0),
        ("function_call_arguments.done", 0),
        ("output_item.done", 0),
        ("output_item.added", 1),
        ("function_call_arguments.done", 1),
        ("output_item.done", 1),
        ("completed", None),
    ]
    assert told[2]["item"] == {
        "type": "function_call",
        "id": "fc_67c9_0",
        "call_id": "call_0",
        "name": "get_weather",
        "arguments": "",
        "status": "in_progress",
    }
    assert told[5]["arguments"] == '{"location":"Paris"}'
    assert told[5]["item_id"] == "fc_67c9_0"
    calls = told[-1]["response"]["output"]
    assert [each["arguments"] for each in calls] == ['{"location":"Paris"}', ""]


def test_thoughts_are_an_item_before_the_message() -> None:
    told = translated(
        chunk({"reasoning": "h"}), chunk({"reasoning": "m"}), chunk({"content": "4"}),
        chunk({}, "stop"), DONE,
    )  # fmt: skip
    (done,) = (each for each in told if each["type"] == "response.reasoning_text.done")
    assert (done["text"], done["output_index"]) == ("hm", 0)
    assert [each["type"] for each in told[-1]["response"]["output"]] == ["reasoning", "message"]


def test_a_stream_that_is_cut_off_ends_incomplete() -> None:
    told = translated(ROLE, chunk({"content": "x"}), chunk({}, "length"), USAGE, DONE)
    assert told[-1]["type"] == "response.incomplete"
    assert told[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert told[-1]["response"]["output"][0]["status"] == "incomplete"


def test_events_do_not_depend_on_how_the_stream_is_cut() -> None:
    events = [ROLE, chunk({"content": "Grüße"}), call(0, "f"), chunk({}, "tool_calls"), USAGE, DONE]
    one = ResponseEvents({})
    assert read(b"".join(one.feed([each]) for each in events)) == translated(*events)


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_stream_that_breaks_off_ends_with_a_numbered_error(has_begun: bool) -> None:
    dialect, number = Responses().for_exchange(), 0
    if has_begun:
        number = len(read(dialect.events().feed([ROLE, chunk({"content": "x"})])))
    error = ReplicaLost("the replica of 'm' was lost while it answered", 1)
    (told,) = read(dialect.error_event(error))
    assert (told["type"], told["sequence_number"]) == ("error", number)
    assert told["code"] == told["error"]["code"] == "replica_lost"


def test_an_engines_error_ends_the_stream() -> None:
    broken = event({"error": {"message": "boom", "type": "BadRequestError", "code": 400}})
    told = translated(ROLE, broken, chunk({"content": "late"}), DONE)
    assert [each["type"] for each in told] == ["response.created", "response.in_progress", "error"]
    assert told[-1]["message"] == "boom"
