"""Anthropic's requests become chats, and chats' answers Anthropic's messages.

Requests are those of Anthropic's documentation (Messages, Tool use, Vision).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnout.gateway.dialects.messages import Messages, counted
from turnout.gateway.errors import (
    GatewayFault,
    InvalidField,
    NoReadyReplica,
    UnknownField,
    UnknownModel,
)

ASK: dict[str, Any] = {
    "model": "m",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "Hello, Claude"}],
}
WEATHER = {
    "name": "get_weather",
    "description": "Get the current weather in a given location",
    "input_schema": {"type": "object", "properties": {"location": {"type": "string"}}},
}
WEATHER_AS_CHAT = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather in a given location",
        "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
    },
}


def chat(**fields: Any) -> dict[str, Any]:
    request = Messages().request(json.dumps({**ASK, **fields}).encode(), ("ignore_eos",))
    assert json.loads(request.raw) == request.fields
    return dict(request.fields)


def refused(**fields: Any) -> str:
    with pytest.raises(InvalidField) as error:
        chat(**fields)
    return error.value.param or ""


def test_the_shortest_request_is_a_chat_of_one_message() -> None:
    assert chat() == {
        "model": "m",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "Hello, Claude"}],
    }


def test_sampling_is_passed_on_by_chats_names() -> None:
    asked = chat(
        stop_sequences=["###"],
        temperature=0.5,
        top_p=0.9,
        top_k=5,
        stream=True,
        metadata={"user_id": "u1"},
        service_tier="auto",
        ignore_eos=True,
    )
    del asked["messages"], asked["model"], asked["max_tokens"]
    assert asked == {
        "stop": ["###"],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 5,
        "stream": True,
        "stream_options": {"include_usage": True},
        "user": "u1",
        "ignore_eos": True,
    }


@pytest.mark.parametrize(
    "system",
    [
        "Be brief.\nBe kind.",
        [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}],
    ],
)
def test_the_system_prompt_leads_the_chat(system: Any) -> None:
    assert chat(system=system)["messages"][0] == {
        "role": "system",
        "content": "Be brief.\nBe kind.",
    }


def test_a_tools_turns_become_calls_and_tool_messages() -> None:
    turns = [
        {"role": "user", "content": [{"type": "text", "text": "Weather in Paris and Rome?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "two calls", "signature": "x"},
                {"type": "text", "text": "I look."},
                {
                    "type": "tool_use",
                    "id": "t1",
                    "name": "get_weather",
                    "input": {"location": "Paris"},
                },
                {"type": "tool_use", "id": "t2", "name": "get_weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "15 degrees"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no answer"}],
                },
                {"type": "text", "text": "So?"},
            ],
        },
    ]
    assert chat(messages=turns)["messages"] == [
        {"role": "user", "content": "Weather in Paris and Rome?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "t1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"location": "Paris"}'},
                },
                {
                    "id": "t2",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "15 degrees"},
        {"role": "tool", "tool_call_id": "t2", "content": "no answer"},
        {"role": "user", "content": "So?"},
    ]


@pytest.mark.parametrize(
    ("choice", "as_chat"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        (
            {"type": "tool", "name": "get_weather"},
            {"type": "function", "function": {"name": "get_weather"}},
        ),
    ],
)
def test_tools_and_choices_are_chats(choice: Any, as_chat: Any) -> None:
    asked = chat(tools=[{**WEATHER, "cache_control": {"type": "ephemeral"}}], tool_choice=choice)
    assert asked["tools"] == [WEATHER_AS_CHAT]
    assert asked["tool_choice"] == as_chat
    assert "parallel_tool_calls" not in asked


def test_one_call_at_a_time_can_be_asked_for() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    assert chat(tools=[WEATHER], tool_choice=choice)["parallel_tool_calls"] is False


def test_images_are_data_or_addresses() -> None:
    data = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    content = [
        {"type": "image", "source": data},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "text", "text": "What is it?"},
    ]
    (message,) = chat(messages=[{"role": "user", "content": content}])["messages"]
    assert message["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "text", "text": "What is it?"},
    ]


def test_a_schema_for_the_answer_is_chats_response_format() -> None:
    shape = {"type": "json_schema", "schema": {"type": "object"}}
    asked = chat(output_config={"effort": "max", "format": shape})
    assert asked["reasoning_effort"] == "high"
    assert asked["response_format"]["type"] == "json_schema"
    assert asked["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 1.5}, "temperature"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages[0].content[0].text",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "document"}]}]},
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "input": 1}]}]},
            "messages[0].content[0].input",
        ),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"name": "x"}]}, "tools[0].input_schema"),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "all"}}, "tool_choice.type"),
        ({"system": [{"type": "image"}]}, "system[0].type"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
        ({"metadata": {"user_id": 3}}, "metadata.user_id"),
    ],
)
def test_what_is_wrong_is_refused_by_its_place(fields: Any, param: str) -> None:
    assert refused(**fields) == param


def test_max_tokens_is_required_and_unknown_fields_are_refused() -> None:
    with pytest.raises(InvalidField, match="max_tokens"):
        Messages().request(json.dumps({k: ASK[k] for k in ("model", "messages")}).encode(), ())
    with pytest.raises(UnknownField, match="mcp_servers"):
        chat(mcp_servers=[])


def test_counting_needs_no_max_tokens() -> None:
    body = {k: ASK[k] for k in ("model", "messages")}
    request = counted(json.dumps({**body, "system": "s", "tools": [WEATHER]}).encode(), ())
    assert [each["role"] for each in request.fields["messages"]] == ["system", "user"]
    assert request.fields["tools"] == [WEATHER_AS_CHAT]
    assert request.max_tokens is None


def engine_answer(**choice: Any) -> bytes:
    message = {"role": "assistant", "content": "Hi!", "tool_calls": []}
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 6,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    return json.dumps(
        {
            "id": "chatcmpl-01X",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": message, "stop_reason": None}
                | choice
            ],
            "usage": usage,
        }
    ).encode()


def test_an_answer_is_a_message() -> None:
    assert json.loads(Messages().whole(engine_answer())) == {
        "id": "msg_01X",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hi!"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 4,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 8,
            "output_tokens": 6,
        },
    }


def called(arguments: str, content: str | None = None) -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": arguments}
    call = {"id": "c1", "type": "function", "function": function}
    return {"role": "assistant", "content": content, "tool_calls": [call], "reasoning": None}


@pytest.mark.parametrize(
    ("choice", "stop_reason", "stop_sequence"),
    [
        ({"finish_reason": "length"}, "max_tokens", None),
        ({"finish_reason": "stop", "stop_reason": "###"}, "stop_sequence", "###"),
        ({"finish_reason": "stop", "stop_reason": 128009}, "end_turn", None),
        ({"finish_reason": "tool_calls", "message": called("{}")}, "tool_use", None),
        ({"finish_reason": "stop", "message": called("{}")}, "tool_use", None),
        ({"finish_reason": "content_filter"}, "refusal", None),
    ],
)
def test_stop_reasons_are_anthropics(
    choice: Any, stop_reason: str, stop_sequence: str | None
) -> None:
    message = json.loads(Messages().whole(engine_answer(**choice)))
    assert (message["stop_reason"], message["stop_sequence"]) == (stop_reason, stop_sequence)


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"location": "Paris"}', {"location": "Paris"}),
        ("", {}),
        ('{"location": "Par', {"INVALID_JSON": '{"location": "Par'}),
    ],
)
def test_calls_are_tool_use_blocks_after_the_text(arguments: str, read: Any) -> None:
    answer = engine_answer(finish_reason="tool_calls", message=called(arguments, "I look."))
    assert json.loads(Messages().whole(answer))["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "get_weather", "input": read},
    ]


def test_reasoning_is_a_thinking_block() -> None:
    message = {"role": "assistant", "content": "4", "reasoning": "2+2"}
    content = json.loads(Messages().whole(engine_answer(message=message)))["content"]
    assert [block["type"] for block in content] == ["thinking", "text"]
    assert content[0]["thinking"] == "2+2"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (InvalidField("x", "y"), "invalid_request_error"),
        (UnknownModel("x", ["m"]), "not_found_error"),
        (NoReadyReplica("none", 5), "overloaded_error"),
        (GatewayFault("req-1"), "api_error"),
    ],
)
def test_errors_have_anthropics_shape(error: Any, kind: str) -> None:
    told = json.loads(Messages().error(error))
    assert told == {"type": "error", "error": {"type": kind, "message": str(error)}}
