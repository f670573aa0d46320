"""What a request costs over this client and over aiohttp, in turn: decision 0009's table."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import aiohttp
import uvloop

from turnout.gateway.wire.pool import Pool

BODY = b'{"model":"mock","messages":[{"role":"user","content":"hi"}],"max_tokens":8}'
PATH = "/v1/chat/completions"
REQUESTS, ROUNDS = 4000, 2
Ask = Callable[[], Awaitable[bytes]]


async def main(address: str) -> None:
    """Prints microseconds of wall and CPU time per request, one and 64 at a time."""
    pool, session = Pool(connect_timeout_s=2.0, keep_alive_s=3.0), aiohttp.ClientSession()
    request = (
        f"POST {PATH} HTTP/1.1\r\nhost: {urlsplit(address).netloc}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(BODY)}\r\n\r\n"
    ).encode() + BODY

    async def ours() -> bytes:
        connection = await pool.ask(address, request)
        body = await connection.rest()
        pool.release(address, connection)
        return body

    async def theirs() -> bytes:
        headers = {"content-type": "application/json"}
        async with session.post(address + PATH, data=BODY, headers=headers) as answer:
            return await answer.read()

    for name, ask in (("ours", ours), ("aiohttp", theirs)) * ROUNDS:
        for at_a_time in (1, 64):
            wall_us, cpu_us = await timed(ask, at_a_time)
            sys.stdout.write(f"{name:8} {at_a_time:3} at a time: {wall_us:4.0f} µs wall")
            sys.stdout.write(f" {cpu_us:4.0f} µs CPU a request\n")
    await session.close()
    pool.close()


async def timed(ask: Ask, at_a_time: int) -> tuple[float, float]:
    """Returns wall and CPU microseconds per request."""

    async def in_turn() -> None:
        for _ in range(REQUESTS // at_a_time):
            await ask()

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(in_turn() for _ in range(at_a_time)))
    return (
        (time.perf_counter() - wall) / REQUESTS * 1e6,
        (time.process_time() - cpu) / REQUESTS * 1e6,
    )


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
