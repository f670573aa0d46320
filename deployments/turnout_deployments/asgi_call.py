"""Calls an ASGI app in this process and yields what it sends: status and headers, then bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

Start = tuple[int, list[tuple[bytes, bytes]]]
Answer = Start | bytes
"""The first part is `(status, headers)`; every later one is a piece of the body."""


async def call(app: Callable[..., Any], path: str, body: bytes) -> AsyncIterator[Answer]:
    """Yields the app's answer to `POST path`; closing it early tells the app its client left."""
    parts: asyncio.Queue[Answer | None] = asyncio.Queue()
    gone = asyncio.Event()
    requests = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        message = next(requests, None)
        if message is None:
            await gone.wait()
            return {"type": "http.disconnect"}
        return message

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            parts.put_nowait((message["status"], list(message["headers"])))
        elif message.get("body"):
            parts.put_nowait(message["body"])

    async def run() -> None:
        try:
            await app(_scope(path), receive, send)
        finally:
            parts.put_nowait(None)

    task = asyncio.create_task(run())
    try:
        while (part := await parts.get()) is not None:
            yield part
        await task
    finally:
        gone.set()
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def _scope(path: str) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"content-type", b"application/json"), (b"host", b"replica")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
        "state": {},
    }
