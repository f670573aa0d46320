"""A stream in another API's words whose replicas die is the stream of one that lived."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.platform.gateway.memory import Memory
from tests.platform.gateway.system import HI

TEXT = "Grüße an 世界 🙂 END of it. Bye!"
EVENTS = 23
"""Of the longest stream: role, 18 tokens, the end token, usage, [DONE]; and dying after all."""
MESSAGES, RESPONSES = "/v1/messages", "/v1/responses"
PROMPTS: dict[str, dict[str, Any]] = {
    MESSAGES: {"messages": HI, "max_tokens": 100},
    RESPONSES: {"input": "hi"},
}
BOTH = pytest.mark.parametrize("path", [MESSAGES, RESPONSES])


async def stream(
    memory: Memory, path: str, cuts: tuple[int, ...] = (), **fields: Any
) -> list[tuple[str, Any]]:
    """Returns the named events of a stream, with the pieces of its text put together."""
    memory.cuts[:] = cuts
    status, raw = await memory.ask(path, stream=True, **{**PROMPTS[path], **fields})
    assert status == 200, raw
    events: list[tuple[str, Any]] = []
    for number, each in enumerate(raw.decode().removesuffix("\n\n").split("\n\n")):
        named, data = each.split("\n")
        name, told = named.removeprefix("event: "), json.loads(data.removeprefix("data: "))
        assert told["type"] == name
        assert told.pop("sequence_number", number) == number
        if events and events[-1][0] == name and name.endswith(".delta"):
            events[-1][1]["delta"] += told["delta"]
        elif events and events[-1][0] == name == "content_block_delta":
            events[-1][1]["delta"]["text"] += told["delta"]["text"]
        else:
            events.append((name, told))
    return events


@BOTH
@pytest.mark.parametrize("per_chunk", [1, 3])
async def test_a_death_at_any_event_is_not_noticed(path: str, per_chunk: int) -> None:
    memory = Memory(per_chunk=per_chunk)
    unbroken = await stream(memory, path)
    assert TEXT in str(unbroken)
    for cut in range(EVENTS):
        assert await stream(memory, path, (cut,)) == unbroken, cut
        assert memory.records.all[-1].status == 200
        assert memory.records.all[-1].completion_tokens == 19


@BOTH
async def test_two_deaths_are_not_noticed_either(path: str) -> None:
    memory = Memory()
    unbroken = await stream(memory, path)
    for first in range(0, EVENTS, 2):
        for second in range(0, EVENTS, 3):
            assert await stream(memory, path, (first, second)) == unbroken, (first, second)


async def test_a_stop_sequence_over_the_seam_is_told() -> None:
    memory = Memory()
    fields: dict[str, Any] = {"stop_sequences": ["世界 🙂"]}
    unbroken = await stream(memory, MESSAGES, **fields)
    told = dict(unbroken)["message_delta"]["delta"]
    assert told == {"stop_reason": "stop_sequence", "stop_sequence": "世界 🙂"}
    for cut in range(EVENTS):
        assert await stream(memory, MESSAGES, (cut,), **fields) == unbroken, cut


@pytest.mark.parametrize(
    ("path", "fields", "told"),
    [
        (MESSAGES, {"max_tokens": 5}, "max_tokens"),
        (RESPONSES, {"max_output_tokens": 5}, "max_output_tokens"),
    ],
)
async def test_the_bound_holds_over_the_seam(path: str, fields: dict[str, Any], told: str) -> None:
    memory = Memory()
    unbroken = await stream(memory, path, **fields)
    assert told in str(unbroken[-1] if path == RESPONSES else unbroken[-2])
    for cut in range(9):
        assert await stream(memory, path, (cut,), **fields) == unbroken, cut
        assert memory.records.all[-1].completion_tokens == 5


@BOTH
async def test_a_stream_that_cannot_go_on_ends_with_the_apis_own_error(path: str) -> None:
    memory = Memory()
    memory.configure(failover={"resumes_streams": False})
    name, error = (await stream(memory, path, (6,)))[-1]
    assert name == "error"
    assert error["error"]["type"] == ("overloaded_error" if path == MESSAGES else "server_error")
    assert "was lost while it answered" in error["error"]["message"]
    assert memory.records.all[-1].status == 503


@BOTH
async def test_a_loss_before_the_first_token_starts_anew(path: str) -> None:
    memory = Memory()
    unbroken = await stream(memory, path)
    assert await stream(memory, path, (0, 0)) == unbroken
    assert {asked for _, asked, _ in memory.transport.asked} == {"/v1/chat/completions"}


@BOTH
async def test_an_engine_without_ids_is_continued_by_text(path: str) -> None:
    memory = Memory(tokens=[b"one", b" two", b" three", b" four"], gives_ids=False)
    unbroken = await stream(memory, path)
    for cut in range(9):
        broken = await stream(memory, path, (cut,))  # only the usage may be another
        assert [name for name, _ in broken] == [name for name, _ in unbroken]
        assert "one two three four" in str(broken)
