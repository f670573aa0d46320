"""Anthropic's and OpenAI's clients get from real engines what their vendors' APIs would give."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import anthropic
import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import System

CITY: Any = [{"role": "user", "content": "Name three cities in France."}]
GREEDY = {"temperature": 0}
PARAMETERS: Any = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


@pytest.fixture
def claude(system: System) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        api_key=system.key, base_url=system.url, max_retries=0, timeout=300
    ) as built:
        yield built


@pytest.mark.parametrize("model", ["small", "large"])
def test_all_apis_say_the_same(client: Any, claude: anthropic.Anthropic, model: str) -> None:
    chat = client.chat.completions.create(model=model, messages=CITY, max_tokens=16, temperature=0)
    text, used = chat.choices[0].message.content, chat.usage.prompt_tokens
    message = claude.messages.create(model=model, messages=CITY, max_tokens=16, extra_body=GREEDY)
    assert [block.text for block in message.content if block.type == "text"] == [text]
    cached = message.usage.cache_read_input_tokens or 0
    assert message.usage.input_tokens + cached == used
    asked = claude.messages.stream(model=model, messages=CITY, max_tokens=16, extra_body=GREEDY)
    with asked as stream:
        assert stream.get_final_text() == text
    ask = {"model": model, "input": CITY, "max_output_tokens": 16, "temperature": 0}
    response = client.responses.create(**ask)
    assert (response.output_text, response.usage.input_tokens) == (text, used)
    with client.responses.stream(**ask) as events:
        pieces = [each.delta for each in events if each.type == "response.output_text.delta"]
    assert "".join(pieces) == text


def test_tokens_are_counted_as_they_are_charged(client: Any, claude: anthropic.Anthropic) -> None:
    counted = claude.messages.count_tokens(model="small", messages=CITY).input_tokens
    chat = client.chat.completions.create(model="small", messages=CITY, max_tokens=1)
    assert counted == chat.usage.prompt_tokens


def test_a_named_tool_is_called_by_both(client: Any, claude: anthropic.Anthropic) -> None:
    message = claude.messages.create(
        model="large",
        max_tokens=60,
        extra_body=GREEDY,
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[{"name": "get_weather", "input_schema": PARAMETERS}],
        tool_choice={"type": "tool", "name": "get_weather"},
    )
    (block,) = message.content
    assert block.type == "tool_use"
    assert isinstance(block.input["city"], str)
    assert message.stop_reason == "tool_use"
    response = client.responses.create(
        model="large",
        max_output_tokens=60,
        temperature=0,
        input="What is the weather in Paris?",
        tools=[{"type": "function", "name": "get_weather", "parameters": PARAMETERS}],
        tool_choice={"type": "function", "name": "get_weather"},
    )
    (call,) = response.output
    assert isinstance(json.loads(call.arguments)["city"], str)
