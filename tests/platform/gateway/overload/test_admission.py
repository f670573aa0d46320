"""Overload on the real gateway: replicas with few places, clients that wait or are refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.fake_engine import FakeEngine, error_body
from tests.platform.gateway.system import (
    CHAT,
    HI,
    MODELS,
    events_of,
    eventually,
    http_post,
)

from turnout.gateway.replicas import EngineLoad

if TYPE_CHECKING:
    import httpx
    from tests.platform.gateway.system import System

INTERACTIVE, BATCH = ({"x-turnout-priority": name} for name in ("interactive", "batch"))


def limit(system: System, places: int, model: str = "small") -> None:
    """Says that each replica of a model runs so many requests at once."""
    replicas = system.table.by_model[model]
    replicas[:] = [replace(each, max_running=places) for each in replicas]


def seats(count: int) -> dict[str, Any]:
    return {**MODELS, "small": {**MODELS["small"], "max_queued_requests": count}}


async def ask(system: System, headers: Any = None, **fields: Any) -> httpx.Response:
    return await system.post({"model": "small", "messages": HI, **fields}, headers=headers)


async def waiting(system: System, count: int) -> None:
    """Waits until so many requests wait in the gateway."""
    async with asyncio.timeout(5):
        while await system.metric("turnout_requests_queued") != count:
            await asyncio.sleep(0.005)


async def hold(system: System, engine: FakeEngine) -> asyncio.StreamWriter:
    """Takes one of the engine's places, until what it returns is closed."""
    engine.stalls = True
    running = engine.running
    _, writer = await system.connect(http_post({"model": "small", "messages": HI}))
    await eventually(lambda: engine.running > running)
    await asyncio.sleep(0)  # counted, it has yet to see that it is to stall
    engine.stalls = False
    return writer


@asynccontextmanager
async def busy(system: System, engine: FakeEngine) -> AsyncIterator[None]:
    """Holds a place until the block ends."""
    writer = await hold(system, engine)
    try:
        yield
    finally:
        writer.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_replica_never_gets_more_requests_than_it_has_places(
    system: System, small: FakeEngine, stream: bool
) -> None:
    limit(system, 3)
    small.delay_s = 0.01
    answers = await asyncio.gather(*(ask(system, stream=stream) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert small.most_running == 3
    assert any("queue;dur=" in answer.headers["server-timing"] for answer in answers)
    assert await system.metric("turnout_queue_seconds_count", model="small") == 17


async def test_a_request_that_need_not_wait_has_no_queue_step(system: System) -> None:
    limit(system, 3)
    answer = await ask(system)
    assert "queue" not in answer.headers["server-timing"]


async def test_the_most_urgent_request_is_answered_first(system: System, small: FakeEngine) -> None:
    limit(system, 1)
    asked = []
    async with busy(system, small):
        for number, headers in enumerate((BATCH, None, INTERACTIVE)):
            asked.append(asyncio.create_task(ask(system, headers, seed=number)))
            await waiting(system, number + 1)
    await asyncio.gather(*asked)
    assert [body.get("seed") for body in small.generations] == [None, 2, 1, 0]


async def in_process(system: System, sent: tuple[bytes, bytes], fields: Any, **scope: Any) -> int:
    """Asks as a part of this process does, with one header; returns the status."""
    body = json.dumps({"model": "small", "messages": HI, **fields}).encode()
    requests = [{"type": "http.request", "body": body, "more_body": False}]
    answers: list[Any] = []

    async def receive() -> Any:
        return requests.pop() if requests else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        answers.append(message)

    asked = {"type": "http", "method": "POST", "path": CHAT, "headers": [sent], **scope}
    await system.gateway(asked, receive, send)
    return int(answers[0]["status"])


async def test_what_this_process_says_of_the_priority_wins(
    system: System, small: FakeEngine
) -> None:
    limit(system, 2)
    header, scope = (b"x-turnout-priority", b"interactive"), {"turnout.priority": "batch"}
    async with busy(system, small):
        task = asyncio.create_task(in_process(system, header, {}, **scope))
        await waiting(system, 1)  # the second of two places is not for batch requests
        assert await system.metric("turnout_requests_queued", priority="batch") == 1
    assert await task == 200


async def test_a_deadline_is_forgotten_once_its_request_has_ended(
    system: System, small: FakeEngine
) -> None:
    small.answer = (400, error_body("bad"))
    header = (b"x-turnout-deadline-ms", b"50")
    assert await in_process(system, header, {"stream": True}) == 400
    await asyncio.sleep(0.1)  # would be cancelled


@pytest.mark.parametrize(
    ("header", "value", "said"),
    [
        ("x-turnout-priority", "urgent", "interactive, normal or batch"),
        ("x-turnout-deadline-ms", "soon", "whole number of milliseconds"),
    ],
)
async def test_a_header_that_cannot_be_read_is_a_400_with_its_name(
    system: System, header: str, value: str, said: str
) -> None:
    answer = await ask(system, {header: value})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, header)
    assert said in error["message"]


async def test_a_full_queue_is_a_429_and_the_more_urgent_request_displaces(
    system: System, small: FakeEngine
) -> None:
    system.configure(models=seats(1), limits={"retry_after_s": 3})
    limit(system, 1)
    async with busy(system, small):
        displaced = asyncio.create_task(ask(system))
        await waiting(system, 1)
        refused = await ask(system)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "3")
        assert refused.json()["error"]["code"] == "queue_full"
        urgent = asyncio.create_task(ask(system, INTERACTIVE))
        assert (await displaced).status_code == 429
    assert (await urgent).status_code == 200
    assert await system.metric("turnout_overload_refusals_total", reason="queue_full") == 2


async def test_a_deadline_that_cannot_be_met_is_a_503_at_once(
    system: System, small: FakeEngine
) -> None:
    limit(system, 1)
    small.delay_s = 0.3  # a whole answer keeps the place for so long
    await ask(system)
    async with busy(system, small):
        answer = await ask(system, {"x-turnout-deadline-ms": "100"})
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "deadline_unreachable"
        assert int(answer.headers["retry-after"]) >= 1
    assert len(small.generations) == 2


async def test_a_stream_that_has_not_begun_by_its_deadline_is_given_up(
    system: System, small: FakeEngine
) -> None:
    small.stalls = True
    answer = await ask(system, {"x-turnout-deadline-ms": "150"}, stream=True)
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "deadline_unreachable"
    await eventually(lambda: small.running == 0)


async def test_a_stream_given_up_teaches_that_first_tokens_take_longer(
    system: System, small: FakeEngine
) -> None:
    small.stalls = True
    await ask(system, {"x-turnout-deadline-ms": "300"}, stream=True)
    await eventually(lambda: small.running == 0)
    refused = await ask(system, {"x-turnout-deadline-ms": "100"}, stream=True)
    assert "too late" in refused.json()["error"]["message"]
    assert len(small.received) == 1


async def test_a_stream_that_began_in_time_goes_on_after_its_deadline(
    system: System, small: FakeEngine
) -> None:
    small.words, small.delay_s = ("x",) * 30, 0.02
    answer = await ask(system, {"x-turnout-deadline-ms": "400"}, stream=True)
    assert events_of(answer.text)[-1] == "[DONE]"


async def test_a_queued_stream_is_sent_comments_until_its_turn(
    system: System, small: FakeEngine
) -> None:
    system.configure(failover={"heartbeat_s": 0.1})
    limit(system, 1)
    holds = await hold(system, small)
    async with system.streaming() as answer:
        chunks = answer.aiter_bytes()
        assert [await anext(chunks), await anext(chunks)] == [b": waiting\n\n"] * 2
        holds.close()
        rest = b"".join([chunk async for chunk in chunks])
    assert rest.replace(b": waiting\n\n", b"") == b"".join(small.events(CHAT, {}))


async def test_a_refusal_after_comments_is_an_error_event(
    system: System, small: FakeEngine
) -> None:
    system.configure(models=seats(1))
    limit(system, 1)
    async with busy(system, small), system.streaming() as answer:
        chunks = answer.aiter_bytes()
        await anext(chunks)
        urgent = asyncio.create_task(ask(system, INTERACTIVE))
        rest = b"".join([chunk async for chunk in chunks])
        assert json.loads(rest.removeprefix(b"data: "))["error"]["code"] == "queue_full"
    assert (await urgent).status_code == 200


async def test_a_client_that_leaves_the_queue_frees_its_place(
    system: System, small: FakeEngine
) -> None:
    limit(system, 1)
    async with busy(system, small):
        _, writer = await system.connect(http_post({"model": "small", "messages": HI}))
        await waiting(system, 1)
        writer.close()
        await waiting(system, 0)
        answer = asyncio.create_task(ask(system))
        await waiting(system, 1)
    assert (await answer).status_code == 200
    assert len(small.received) == 2


async def test_those_who_waited_for_a_model_to_start_get_its_places_in_turn(bare: System) -> None:
    bare.configure(failover={"wait_for_replica_s": 20}, models=seats(10))
    asked = [asyncio.create_task(bare.chat()) for _ in range(11)]
    await waiting(bare, 10)
    engine = FakeEngine()
    engine.delay_s = 0.01
    bare.table.by_model["small"] = []
    await bare.add(engine)
    limit(bare, 2)
    statuses = sorted([(await each).status_code for each in asked])
    assert statuses == [200] * 10 + [429]
    assert engine.most_running <= 2


async def test_a_replica_that_joins_takes_those_who_wait(system: System, small: FakeEngine) -> None:
    limit(system, 1)
    async with busy(system, small):
        waits = asyncio.create_task(ask(system))
        await waiting(system, 1)
        other = await system.add(FakeEngine())
        assert (await waits).status_code == 200
        assert len(other.received) == 1


async def test_another_model_stands_in_for_a_full_one(system: System, small: FakeEngine) -> None:
    models = seats(0)
    models["small"]["fallbacks"] = ["large"]
    system.configure(models=models)
    limit(system, 1)
    async with busy(system, small):
        answer = await ask(system)
        assert answer.headers["x-turnout-model"] == "large"


async def test_of_several_gateways_each_leaves_the_others_what_they_run(
    system: System, small: FakeEngine
) -> None:
    """By what the engine tells others have all of its 4 places: 2 are this gateway's share."""
    system.gateway.share_replicas(lambda: 2)
    (replica,) = system.table.by_model["small"]
    loaded = replace(replica, max_running=4, load=EngineLoad(running=4))
    system.table.by_model["small"] = [loaded]
    small.delay_s = 0.05
    await asyncio.gather(*(ask(system) for _ in range(6)))
    assert small.most_running == 2
