"""Heads of answers, as a client reads them off the wire."""

from __future__ import annotations

import gc
import weakref
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from tests.platform.gateway.system import serving

from turnout.gateway.listener import GuardedHttp

Headers = list[tuple[bytes, bytes]]


async def answered(
    headers: Headers, pieces: tuple[bytes, ...] = (b"",), status: int = 200, method: str = "GET"
) -> httpx.Response:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for number, piece in enumerate(pieces, 1):
            is_last = number == len(pieces)
            await send({"type": "http.response.body", "body": piece, "more_body": not is_last})

    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(app, http=GuardedHttp))
        client = await stack.enter_async_context(httpx.AsyncClient())
        return await client.request(method, url)


async def test_a_body_of_known_length_is_sent_as_it_is() -> None:
    answer = await answered([(b"content-length", b"5"), (b"x-more", b"1")], (b"he", b"llo"))
    assert (answer.status_code, answer.content) == (200, b"hello")
    assert answer.headers["x-more"] == "1"
    assert "transfer-encoding" not in answer.headers


async def test_a_body_of_unknown_length_is_sent_in_chunks() -> None:
    answer = await answered([(b"content-type", b"text/plain")], (b"he", b"", b"llo"))
    assert answer.headers["transfer-encoding"] == "chunked"
    assert answer.content == b"hello"


@pytest.mark.parametrize(("status", "method"), [(204, "GET"), (304, "GET"), (200, "HEAD")])
async def test_an_answer_without_a_body_has_no_chunks(status: int, method: str) -> None:
    answer = await answered([], status=status, method=method)
    assert answer.status_code == status
    assert "transfer-encoding" not in answer.headers


async def test_a_head_that_says_close_says_it_once() -> None:
    answer = await answered([(b"connection", b"close"), (b"content-length", b"0")])
    assert answer.headers.get_list("connection") == ["close"]


@pytest.mark.parametrize(
    "value", [b"a\r\nset-cookie: b=1", b"a\nb", b"a\rb", b"a\x00b", b"a\x1bb", b"a\x7f"]
)
async def test_a_header_cannot_bring_another_one(value: bytes) -> None:
    answer = await answered([(b"x-said", value), (b"content-length", b"0")])
    assert answer.status_code == 500
    assert "set-cookie" not in answer.headers
    assert "x-said" not in answer.headers


async def test_answered_requests_are_freed_without_the_garbage_collector() -> None:
    made: list[weakref.ref[Any]] = []

    class Watched(GuardedHttp):
        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            super()._start_asgi_task(cycle, app)
            made.append(weakref.ref(cycle))

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    gc.disable()
    try:
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(serving(app, http=Watched))
            client = await stack.enter_async_context(httpx.AsyncClient())
            for _ in range(5):
                await client.get(url)
            assert len(made) == 5
            assert sum(ref() is not None for ref in made) <= 1  # the connection's last one
    finally:
        gc.enable()
