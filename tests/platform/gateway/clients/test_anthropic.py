"""Anthropic's own client works against the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from tests.platform.gateway.fake_engine import error_body
from tests.platform.gateway.system import eventually

from turnout.access.caller import Caller, Denied
from turnout.gateway.app import Governance

if TYPE_CHECKING:
    from tests.platform.gateway.calling_engine import CallingEngine
    from tests.platform.gateway.system import System

ASK: dict[str, Any] = {
    "model": "large",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Hello"}],
}
TOOL: Any = {"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}


@pytest.fixture
async def client(system: System) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(
        api_key="sk-x", base_url=system.url, max_retries=0
    ) as client:
        yield client


async def test_a_message_is_answered_whole(
    client: anthropic.AsyncAnthropic, large: CallingEngine
) -> None:
    large.cached_tokens = 4
    message = await client.messages.create(**ASK, system="Be kind.")
    assert [block.text for block in message.content if block.type == "text"] == ["Grüße an 世界 🙂"]
    assert message.stop_reason == "end_turn"
    assert message.model == "large"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (7, 4)
    assert message.usage.output_tokens == 4
    assert large.generations[0]["messages"][0] == {"role": "system", "content": "Be kind."}


async def test_a_stream_adds_up_to_the_message(
    client: anthropic.AsyncAnthropic, large: CallingEngine
) -> None:
    large.finish_reason = "length"
    async with client.messages.stream(**ASK) as stream:
        pieces = [text async for text in stream.text_stream]
        message = await stream.get_final_message()
    assert pieces == ["Grüße", " an", " 世界", " 🙂"]
    assert [block.text for block in message.content if block.type == "text"] == ["".join(pieces)]
    assert message.stop_reason == "max_tokens"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (11, 4)


@pytest.mark.parametrize("streamed", [False, True])
async def test_tools_are_called(
    client: anthropic.AsyncAnthropic, large: CallingEngine, streamed: bool
) -> None:
    large.words, large.finish_reason = (), "tool_calls"
    large.calls = (("get_weather", ('{"city": ', '"Paris"}')), ("get_weather", ("{}",)))
    asked = {**ASK, "tools": [TOOL], "tool_choice": {"type": "any"}}
    if streamed:
        async with client.messages.stream(**asked) as stream:
            message = await stream.get_final_message()
    else:
        message = await client.messages.create(**asked)
    blocks = [block for block in message.content if block.type == "tool_use"]
    assert [(block.name, block.input) for block in blocks] == [
        ("get_weather", {"city": "Paris"}),
        ("get_weather", {}),
    ]
    assert len({block.id for block in blocks}) == 2
    assert message.stop_reason == "tool_use"
    assert large.generations[0]["tool_choice"] == "required"


async def test_tokens_are_counted_by_the_models_tokenizer(
    client: anthropic.AsyncAnthropic, large: CallingEngine
) -> None:
    large.count = 42
    body = {"model": "large", "messages": ASK["messages"], "system": "Be kind."}
    assert (await client.messages.count_tokens(**body)).input_tokens == 42
    (asked,) = large.asked("/tokenize")
    assert [each["role"] for each in asked["messages"]] == ["system", "user"]


async def test_the_router_picks_the_tokenizer_of_auto(
    client: anthropic.AsyncAnthropic, large: CallingEngine
) -> None:
    counted = await client.messages.count_tokens(model="auto", messages=ASK["messages"])
    assert counted.input_tokens == 7
    assert len(large.asked("/tokenize")) == 1


async def test_errors_are_the_clients_own_classes(
    client: anthropic.AsyncAnthropic, large: CallingEngine
) -> None:
    with pytest.raises(anthropic.NotFoundError, match="models here") as missing:
        await client.messages.create(**{**ASK, "model": "none"})
    told: Any = missing.value.body
    assert (told["type"], told["error"]["type"]) == ("error", "not_found_error")
    with pytest.raises(anthropic.BadRequestError, match="role"):
        await client.messages.create(**{**ASK, "messages": [{"role": "x", "content": ""}]})
    with pytest.raises(anthropic.NotFoundError):
        await client.messages.count_tokens(model="none", messages=ASK["messages"])
    large.answer = (400, error_body("roles must alternate"))
    with pytest.raises(anthropic.BadRequestError, match="roles must alternate"):
        await client.messages.create(**ASK)


async def test_without_a_key_the_error_is_anthropics(
    system: System, client: anthropic.AsyncAnthropic
) -> None:
    class Closed:
        async def identify(self, headers: Any) -> Caller | Denied:
            return Denied("no key")

    system.govern(Governance(access=Closed()))
    for ask in (client.messages.create(**ASK), client.messages.count_tokens(**_counted())):
        with pytest.raises(anthropic.AuthenticationError, match="no key") as error:
            await ask
        told: Any = error.value.body
        assert told["error"]["type"] == "authentication_error"


def _counted() -> dict[str, Any]:
    return {"model": "large", "messages": ASK["messages"]}


async def test_a_stream_that_breaks_off_raises(
    system: System, client: anthropic.AsyncAnthropic, large: CallingEngine
) -> None:
    large.dies_after = 3
    with pytest.raises(anthropic.APIStatusError, match="lost"):
        async with client.messages.stream(**ASK, tools=[TOOL]) as stream:
            await stream.get_final_message()


async def test_a_client_that_leaves_stops_the_engine(
    client: anthropic.AsyncAnthropic, large: CallingEngine
) -> None:
    large.delay_s = 0.2
    async with client.messages.stream(**ASK) as stream:
        async for _ in stream.text_stream:
            break
    await eventually(lambda: large.running == 0)
    await asyncio.sleep(0)
