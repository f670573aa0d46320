"""OpenAI's own client gets responses from the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import openai
import pytest
from pydantic import BaseModel

if TYPE_CHECKING:
    from tests.platform.gateway.calling_engine import CallingEngine
    from tests.platform.gateway.system import System

TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}


@pytest.fixture
async def client(system: System) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        api_key="sk-x", base_url=f"{system.url}/v1", max_retries=0
    ) as client:
        yield client


async def test_a_response_is_answered_whole(
    client: openai.AsyncOpenAI, large: CallingEngine
) -> None:
    large.cached_tokens = 4
    response = await client.responses.create(model="large", input="Hi", instructions="Be kind.")
    assert response.output_text == "Grüße an 世界 🙂"
    assert response.status == "completed"
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (11, 4)
    assert response.usage.input_tokens_details.cached_tokens == 4
    assert [each["role"] for each in large.generations[0]["messages"]] == ["system", "user"]


async def test_a_stream_adds_up_to_the_response(client: openai.AsyncOpenAI) -> None:
    async with client.responses.stream(model="large", input="Hi") as stream:
        deltas = [each.delta async for each in stream if each.type == "response.output_text.delta"]
        response = await stream.get_final_response()
    assert deltas == ["Grüße", " an", " 世界", " 🙂"]
    assert response.output_text == "".join(deltas)
    assert response.usage is not None
    assert response.usage.total_tokens == 15


@pytest.mark.parametrize("streamed", [False, True])
async def test_functions_are_called(
    client: openai.AsyncOpenAI, large: CallingEngine, streamed: bool
) -> None:
    large.words, large.finish_reason = (), "tool_calls"
    large.calls = (("get_weather", ('{"city": ', '"Paris"}')), ("get_weather", ("{}",)))
    response: Any
    if streamed:
        async with client.responses.stream(model="large", input="Hi", tools=[TOOL]) as stream:
            response = await stream.get_final_response()
    else:
        response = await client.responses.create(model="large", input="Hi", tools=[TOOL])
    calls = [item for item in response.output if item.type == "function_call"]
    assert [(call.name, call.arguments) for call in calls] == [
        ("get_weather", '{"city": "Paris"}'),
        ("get_weather", "{}"),
    ]
    given = [
        {"role": "user", "content": "Hi"},
        *(item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in calls),
        {"type": "function_call_output", "call_id": calls[0].call_id, "output": "15"},
        {"type": "function_call_output", "call_id": calls[1].call_id, "output": "16"},
    ]
    await client.responses.create(model="large", input=given, tools=[TOOL])
    roles = [each["role"] for each in large.generations[-1]["messages"]]
    assert roles == ["user", "assistant", "tool", "tool"]


async def test_an_answer_is_parsed_by_its_schema(
    client: openai.AsyncOpenAI, large: CallingEngine
) -> None:
    class City(BaseModel):
        name: str

    large.words = ('{"name": ', '"Paris"}')
    response = await client.responses.parse(model="auto", input="hard: a city", text_format=City)
    assert response.output_parsed == City(name="Paris")
    assert response.model == "large"
    assert large.generations[0]["response_format"]["json_schema"]["name"] == "City"


async def test_errors_name_the_field(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as error:
        await client.responses.create(model="large", input="Hi", previous_response_id="resp_1")
    assert error.value.param == "previous_response_id"
    with pytest.raises(openai.NotFoundError, match="models here"):
        await client.responses.create(model="none", input="Hi")


async def test_a_stream_that_breaks_off_raises(
    client: openai.AsyncOpenAI, large: CallingEngine
) -> None:
    large.dies_after = 3
    stream = await client.responses.create(model="large", input="Hi", tools=[TOOL], stream=True)
    with pytest.raises(openai.APIError, match="lost"):
        async for _ in stream:
            pass


async def test_usage_and_metrics_know_the_endpoint(
    system: System, client: openai.AsyncOpenAI
) -> None:
    await client.responses.create(model="large", input="Hi")
    assert await system.metric("turnout_requests_total", endpoint="responses", status="200") == 1
    assert await system.metric("turnout_tokens_total", model="large") == 15
