"""LangChain's OpenAI classes work against the gateway, by chat and by responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

if TYPE_CHECKING:
    from tests.platform.gateway.calling_engine import CallingEngine
    from tests.platform.gateway.system import System


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    return city


@pytest.mark.parametrize("by_responses", [False, True])
async def test_answers_streams_and_calls(
    system: System, large: CallingEngine, by_responses: bool
) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        llm = ChatOpenAI(
            model="large",
            api_key=SecretStr("sk-x"),
            base_url=f"{system.url}/v1",
            use_responses_api=by_responses,
            http_async_client=http,
            max_retries=0,
        )
        answer = await llm.ainvoke("Hi")
        assert answer.text == "Grüße an 世界 🙂"
        assert answer.usage_metadata is not None
        assert answer.usage_metadata["total_tokens"] == 15
        streamed = [chunk.text async for chunk in llm.astream("Hi")]
        assert "".join(streamed) == "Grüße an 世界 🙂"
        large.words, large.finish_reason = (), "tool_calls"
        large.calls = (("get_weather", ('{"city": ', '"Paris"}')),)
        called = await llm.bind_tools([get_weather]).ainvoke("Hi")
        assert [(call["name"], call["args"]) for call in called.tool_calls] == [
            ("get_weather", {"city": "Paris"})
        ]
    path = "/v1/chat/completions"
    assert [body.get("stream", False) for body in large.asked(path)] == [False, True, False]
    endpoint = "responses" if by_responses else "chat"
    assert await system.metric("turnout_requests_total", endpoint=endpoint, status="200") == 3
