"""OpenAI's Responses requests become chats, and chats' answers responses.

Requests and items are those of OpenAI's documentation (Responses, Function calling, Migrate to the
Responses API).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import Response

from turnout.gateway.dialects.responses import Responses
from turnout.gateway.errors import InvalidField, UnknownField

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Retrieves current weather.",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
    "strict": True,
}


def chat(**fields: Any) -> dict[str, Any]:
    body = {"model": "m", "input": "Hello", **fields}
    return dict(Responses().request(json.dumps(body).encode(), ("top_k",)).fields)


def refused(**fields: Any) -> InvalidField:
    with pytest.raises(InvalidField) as error:
        chat(**fields)
    return error.value


def test_a_text_is_a_chat_of_one_message() -> None:
    assert chat() == {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def test_fields_are_passed_on_by_chats_names() -> None:
    asked = chat(
        instructions="Talk like a pirate.",
        max_output_tokens=16,
        temperature=1.2,
        top_p=0.5,
        reasoning={"effort": "low", "summary": "auto"},
        stream=True,
        stream_options={"include_obfuscation": False},
        store=False,
        background=False,
        previous_response_id=None,
        truncation="disabled",
        include=["reasoning.encrypted_content"],
        metadata={"a": "b"},
        user="u",
        top_k=3,
        prompt_cache_key="k",
    )
    assert asked == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Talk like a pirate."},
            {"role": "user", "content": "Hello"},
        ],
        "max_tokens": 16,
        "temperature": 1.2,
        "top_p": 0.5,
        "reasoning_effort": "low",
        "stream": True,
        "stream_options": {"include_usage": True},
        "user": "u",
        "top_k": 3,
    }


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "low"}
CONVERSATION = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "get_weather",
        "arguments": '{"location":"Paris"}',
    },
    {"type": "function_call", "call_id": "c2", "name": "get_weather", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "15"},
    {
        "type": "function_call_output",
        "call_id": "c2",
        "output": [{"type": "input_text", "text": "none"}],
    },
    {"role": "user", "content": [IMAGE, {"type": "input_text", "text": "And here?"}]},
]


def test_a_conversation_of_items_becomes_chats_messages() -> None:
    assert chat(input=CONVERSATION, instructions="Be kind.")["messages"] == [
        {"role": "system", "content": "Be kind.\n\nBe brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"location":"Paris"}'},
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "15"},
        {"role": "tool", "tool_call_id": "c2", "content": "none"},
        {
            "role": "user",
            "content": [
                {
                    "type": "image_url",
                    "image_url": {"url": "data:image/png;base64,AA", "detail": "low"},
                },
                {"type": "text", "text": "And here?"},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("choice", "as_chat"),
    [
        ("required", "required"),
        (
            {"type": "function", "name": "get_weather"},
            {"type": "function", "function": {"name": "get_weather"}},
        ),
    ],
)
def test_functions_and_choices_are_chats(choice: Any, as_chat: Any) -> None:
    asked = chat(tools=[WEATHER], tool_choice=choice, parallel_tool_calls=False)
    described = {name: value for name, value in WEATHER.items() if name != "type"}
    assert asked["tools"] == [{"type": "function", "function": described}]
    assert asked["tool_choice"] == as_chat
    assert asked["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    ("shape", "as_chat"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "json_object"}),
        (
            {"type": "json_schema", "name": "city", "schema": {"type": "object"}, "strict": True},
            {
                "type": "json_schema",
                "json_schema": {"name": "city", "schema": {"type": "object"}, "strict": True},
            },
        ),
    ],
)
def test_the_texts_format_is_chats_response_format(shape: Any, as_chat: Any) -> None:
    asked = chat(text={"format": shape, "verbosity": "low"})
    assert asked.get("response_format") == as_chat


@pytest.mark.parametrize(
    ("fields", "param", "says"),
    [
        ({"store": True}, "store", "stores no responses"),
        ({"previous_response_id": "resp_1"}, "previous_response_id", "whole conversation"),
        ({"conversation": "conv_1"}, "conversation", "whole conversation"),
        ({"background": True}, "background", "while the client waits"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt", "stores no prompts"),
        ({"truncation": "auto"}, "truncation", "does not shorten"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type", "no built-in tools"),
        ({"tools": [WEATHER, {"type": "mcp"}]}, "tools[1].type", "no built-in tools"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice", "function"),
        ({"include": ["file_search_call.results"]}, "include[0]", "nothing of this kind"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type", "stores no"),
        ({"input": [{"type": "computer_call"}]}, "input[0].type", "must be"),
        ({"input": []}, "input", "nothing to answer"),
        ({"input": [{"type": "reasoning"}]}, "input", "nothing to answer"),
        ({"input": [{"role": "user"}]}, "input[0].content", "must be"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file"}]}]},
            "input[0].content[0].type",
            "must be",
        ),
        (
            {"input": [{"type": "function_call", "call_id": "c", "name": "f"}]},
            "input[0].arguments",
            "must be",
        ),
        (
            {"text": {"format": {"type": "json_schema", "name": "x"}}},
            "text.format.schema",
            "must be",
        ),
        ({"max_output_tokens": 0}, "max_output_tokens", "greater"),
        ({"reasoning": {"effort": 3}}, "reasoning.effort", "must be"),
    ],
)
def test_what_the_subset_leaves_out_is_refused_by_name(fields: Any, param: str, says: str) -> None:
    error = refused(**fields)
    assert error.param == param
    assert says in str(error)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(UnknownField, match="seed"):
        chat(seed=1)


def answered(asked: dict[str, Any], **choice: Any) -> dict[str, Any]:
    dialect = Responses().for_exchange()
    dialect.request(json.dumps({"model": "m", "input": "Hi", **asked}).encode(), ())
    message = {"role": "assistant", "content": "Hi there!", "tool_calls": []}
    data = {
        "id": "chatcmpl-67cc",
        "created": 1741476542,
        "model": "m-7b",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}],
        "usage": {
            "prompt_tokens": 36,
            "completion_tokens": 87,
            "prompt_tokens_details": {"cached_tokens": 32},
        },
    }
    told: dict[str, Any] = json.loads(dialect.whole(json.dumps(data).encode()))
    Response.model_validate(told, strict=False)
    return told


def test_an_answer_is_the_documented_response() -> None:
    assert answered({}) == {
        "id": "resp_67cc",
        "object": "response",
        "created_at": 1741476542,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "model": "m-7b",
        "output": [
            {
                "type": "message",
                "id": "msg_67cc_0",
                "status": "completed",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "Hi there!", "annotations": [], "logprobs": []}
                ],
            }
        ],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": False,
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": None,
        "truncation": "disabled",
        "usage": {
            "input_tokens": 36,
            "input_tokens_details": {"cached_tokens": 32, "cache_write_tokens": 0},
            "output_tokens": 87,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 123,
        },
        "user": None,
        "metadata": {},
    }


def test_an_answer_repeats_what_was_asked_for() -> None:
    asked = {"instructions": "i", "tools": [WEATHER], "temperature": 0.5, "metadata": {"a": "b"}}
    told = answered(asked)
    assert {name: told[name] for name in asked} == asked


def test_calls_and_thoughts_are_items() -> None:
    function = {"name": "get_weather", "arguments": '{"location":"Paris"}'}
    call = {"id": "c1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning": "hm"}
    output = answered({}, message=message, finish_reason="tool_calls")["output"]
    assert [item["type"] for item in output] == ["reasoning", "function_call"]
    assert output[1] == {
        "type": "function_call",
        "id": "fc_67cc_1",
        "status": "completed",
        "call_id": "c1",
        "name": "get_weather",
        "arguments": '{"location":"Paris"}',
    }


def test_an_answer_that_is_cut_off_is_incomplete() -> None:
    told = answered({}, finish_reason="length")
    assert told["status"] == told["output"][0]["status"] == "incomplete"
    assert told["incomplete_details"] == {"reason": "max_output_tokens"}


def test_two_exchanges_know_nothing_of_each_other() -> None:
    shared = Responses()
    one, other = shared.for_exchange(), shared.for_exchange()
    one.request(b'{"model": "m", "input": "x", "instructions": "secret"}', ())
    other.request(b'{"model": "m", "input": "x"}', ())
    message = {"role": "assistant", "content": "x"}
    choices = [{"message": message, "finish_reason": "stop"}]
    answer = json.dumps({"id": "x", "created": 1, "model": "m", "choices": choices}).encode()
    assert json.loads(one.whole(answer))["instructions"] == "secret"
    assert json.loads(other.whole(answer))["instructions"] is None
