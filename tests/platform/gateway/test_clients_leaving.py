"""A client that leaves takes its engine request with it, within a second, at every stage."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.system import CHAT, HI, eventually, http_post

from turnout.gateway.errors import RequestTimedOut
from turnout.gateway.exchange import ClientLeft, Exchange

if TYPE_CHECKING:
    from tests.platform.gateway.fake_engine import FakeEngine
    from tests.platform.gateway.system import System

ASK = {"model": "small", "messages": HI}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("stage", ["prefill", "decode"])
async def test_the_engine_stops_within_a_second(
    system: System, small: FakeEngine, stream: bool, stage: str
) -> None:
    small.stalls = stage == "prefill"
    small.words, small.delay_s = ("x",) * 10_000, 0.01 if stream else 30
    await system.leave(http_post({**ASK, "stream": stream}), lambda: small.running == 1)
    await eventually(lambda: small.running == 0, within_s=1)
    await eventually(lambda: system.is_idle)
    assert await system.metric("turnout_requests_total", model="small", status="499") == 1
    assert await system.metric("turnout_requests_in_flight", model="small") == 0


async def test_a_client_that_leaves_amid_its_stream_stops_the_engine(
    system: System, small: FakeEngine
) -> None:
    small.words, small.delay_s = ("x",) * 10_000, 0.01
    async with system.streaming() as answer:
        await anext(answer.aiter_bytes())
        assert small.running == 1
    await eventually(lambda: small.running == 0, within_s=1)


async def test_a_client_that_leaves_after_a_large_body_stops_the_engine(
    system: System, small: FakeEngine
) -> None:
    """A body of which more comes at once than the server takes makes it stop reading."""
    small.words, small.delay_s = ("x",) * 10_000, 30
    body = b" " * 300_000 + json.dumps(ASK).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    _, writer = await system.connect(head.encode())
    await asyncio.sleep(0.05)
    writer.write(body)
    await eventually(lambda: small.running == 1)
    writer.close()
    await eventually(lambda: small.running == 0, within_s=1)


async def test_a_client_that_leaves_while_tokens_are_counted_stops_that(
    system: System, small: FakeEngine
) -> None:
    small.stalls = True
    body = {"model": "small", "messages": [{"role": "user", "content": "x" * 3000}]}
    await system.leave(http_post(body), lambda: small.running == 1)
    await eventually(lambda: small.running == 0, within_s=1)
    assert [path for path, _ in small.received] == ["/tokenize"]


async def test_a_client_that_leaves_amid_its_body_costs_nothing(
    system: System, small: FakeEngine
) -> None:
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n" + "{"
    _, writer = await system.connect(head.encode())
    await asyncio.sleep(0.05)
    writer.close()
    await writer.wait_closed()
    counted = 0.0
    for _ in range(100):
        counted = await system.metric("turnout_requests_total", model="none", status="499")
        if counted:
            break
    assert counted == 1
    assert small.received == []


async def test_the_others_go_on_when_one_client_leaves(system: System, small: FakeEngine) -> None:
    small.words, small.delay_s = ("x",) * 40, 0.01
    stays = asyncio.create_task(system.chat(stream=True))
    await system.leave(http_post({**ASK, "stream": True}), lambda: small.running == 2)
    answer = await stays
    assert answer.text.endswith("data: [DONE]\n\n")


def exchange_of(received: list[dict[str, Any]], sent: list[Any]) -> Exchange:
    messages = iter(received)

    async def receive() -> dict[str, Any]:
        if (message := next(messages, None)) is None:
            await asyncio.Event().wait()
        assert message is not None
        return message

    async def send(message: Any) -> None:
        await asyncio.sleep(0)
        sent.append(message)

    return Exchange({"method": "POST", "path": CHAT, "headers": []}, receive, send)


async def test_work_is_cancelled_and_cleaned_up_before_client_left_is_raised() -> None:
    exchange = exchange_of([{"type": "http.disconnect"}], [])
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")
            raise LookupError("a fault while cleaning up does not hide that the client left")

    with pytest.raises(ClientLeft):
        await exchange.while_client_stays(work())
    assert cleaned == ["up"]


async def test_a_whole_answer_is_no_client_that_left() -> None:
    """Servers report `http.disconnect` once an answer is out, while the gateway still tidies up."""
    sent: list[Any] = []
    exchange = exchange_of([{"type": "http.disconnect"}], sent)
    tidied = []

    async def work() -> None:
        await exchange.answer(b"{}")
        await asyncio.sleep(0.01)
        tidied.append(True)

    exchange.has_ended = True  # as when `send` itself lets the watcher run first
    await exchange.while_client_stays(work())
    assert tidied == [True]
    assert len(sent) == 2


@pytest.mark.parametrize("has_begun", [False, True])
async def test_no_task_outlives_a_cancelled_request(has_begun: bool) -> None:
    """Serve cancels a request whose client left: nothing of it may run on."""
    exchange = exchange_of([], [])
    before = asyncio.all_tasks()

    async def work() -> None:
        if has_begun:
            await exchange.begin(200, "text/plain")
        await asyncio.Event().wait()

    request = asyncio.create_task(exchange.while_client_stays(work()))
    await asyncio.sleep(0.01)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert asyncio.all_tasks() == before


async def test_a_cancelled_request_is_counted_as_a_client_that_left(
    system: System, small: FakeEngine
) -> None:
    small.stalls = True
    sent: list[Any] = []
    body = http_post(ASK).split(b"\r\n\r\n", 1)[1]
    bodies = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        if (message := next(bodies, None)) is not None:
            return message
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": CHAT, "headers": []}
    request = asyncio.create_task(system.gateway(scope, receive, send))
    await eventually(lambda: small.running == 1)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert sent == []
    assert await system.metric("turnout_requests_total", status="499") == 1


async def test_an_error_after_the_whole_answer_sends_nothing_more() -> None:
    sent: list[Any] = []
    exchange = exchange_of([], sent)
    await exchange.answer(b"{}")
    await exchange.refuse(RequestTimedOut(1))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert exchange.status == 200
