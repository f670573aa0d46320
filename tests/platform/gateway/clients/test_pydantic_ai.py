"""Pydantic AI's agents work against the gateway, by chat, by responses and by Anthropic's API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import anthropic
import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

if TYPE_CHECKING:
    from tests.platform.gateway.calling_engine import CallingEngine
    from tests.platform.gateway.system import System


@pytest.fixture(params=["chat", "responses", "messages"])
async def model(system: System, request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    if request.param == "messages":
        async with anthropic.AsyncAnthropic(api_key="sk-x", base_url=system.url) as client:
            yield AnthropicModel("large", provider=AnthropicProvider(anthropic_client=client))
        return
    kind = OpenAIChatModel if request.param == "chat" else OpenAIResponsesModel
    async with openai.AsyncOpenAI(api_key="sk-x", base_url=f"{system.url}/v1") as other:
        yield kind("large", provider=OpenAIProvider(openai_client=other))


async def test_an_agent_calls_its_tool_and_answers(model: Model, large: CallingEngine) -> None:
    asked: list[str] = []
    large.words, large.finish_reason = (), "tool_calls"
    large.calls = (("get_weather", ('{"city": ', '"Paris"}')),)
    agent = Agent(model, instructions="Be kind.")

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Returns the weather of a city."""
        asked.append(city)
        large.words, large.finish_reason, large.calls = ("15", " degrees"), "stop", ()
        return "15"

    result = await agent.run("What is the weather in Paris?")
    assert asked == ["Paris"]
    assert result.output == "15 degrees"
    roles = [message["role"] for message in large.generations[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert large.generations[-1]["messages"][-1]["content"] == "15"


async def test_an_agents_stream_adds_up(model: Model, large: CallingEngine) -> None:
    async with Agent(model).run_stream("Hi") as result:
        assert await result.get_output() == "Grüße an 世界 🙂"
