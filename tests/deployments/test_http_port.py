"""A replica's own port: bound where told; the in-process call beside it."""

import asyncio
import socket
from typing import Any

import httpx
import pytest

from turnout_deployments.asgi_call import call
from turnout_deployments.http_port import HttpPort, NoFreePort, listen


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers with the body it got, in two pieces."""
    body = (await receive())["body"]
    head = {"type": "http.response.start", "status": 201, "headers": [(b"x-path", b"/p")]}
    await send(head)
    await send({"type": "http.response.body", "body": body[:2], "more_body": True})
    await send({"type": "http.response.body", "body": body[2:]})


def test_a_port_of_the_range_is_taken_and_a_full_range_is_told() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(NoFreePort, match=f"between {port} and {port}"):
            listen("127.0.0.1", (port, port))
        with listen("127.0.0.1", (port, port + 20)) as ours:
            assert port < ours.getsockname()[1] <= port + 20


async def test_an_app_answers_on_its_own_port_until_closed() -> None:
    port = HttpPort(echo, listen("127.0.0.1", None))
    await port.start()
    async with httpx.AsyncClient() as client:
        answer = await client.post(port.address, content=b"hello")
        assert (answer.status_code, answer.text) == (201, "hello")
    assert port.is_serving
    await port.close()
    assert not port.is_serving


async def test_a_call_yields_the_head_and_then_the_pieces() -> None:
    parts = [part async for part in call(echo, "/p", b"hello")]
    assert parts == [(201, [(b"x-path", b"/p")]), b"he", b"llo"]


async def test_leaving_a_call_early_disconnects_and_ends_the_app() -> None:
    seen: list[str] = []

    async def endless(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        seen.append((await receive())["type"])

    parts = call(endless, "/p", b"")
    await anext(parts)
    await parts.aclose()  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    assert seen in (["http.disconnect"], [])
    tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
    assert tasks == []


async def test_an_apps_failure_reaches_the_caller() -> None:
    async def broken(*_: Any) -> None:
        raise LookupError("inside")

    with pytest.raises(LookupError, match="inside"):
        _ = [part async for part in call(broken, "/p", b"")]
