"""Requests to real sockets whose other end says exactly what a test lets it say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import pytest
import uvloop

from turnout.gateway.wire.connection import MOST_WAITING_BYTES, Connection, ConnectionBroken
from turnout.gateway.wire.pool import Pool

Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter
REQUEST = b"POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\nhi"
SIZED = b"HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;ext=1\r\nlo\r\n0\r\n\r\n"
)
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\nhello"
AFTER_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED


@asynccontextmanager
async def server(answer: Callable[[Reader, Writer], Awaitable[None]]) -> AsyncIterator[str]:
    """Calls `answer` for each connection; yields the address."""
    writers: list[Writer] = []

    async def serve(reader: Reader, writer: Writer) -> None:
        writers.append(writer)
        await answer(reader, writer)

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        listening.close()
        for writer in writers:
            writer.close()
        await listening.wait_closed()


@asynccontextmanager
async def pool(keep_alive_s: float = 5.0) -> AsyncIterator[Pool]:
    made = Pool(connect_timeout_s=2.0, keep_alive_s=keep_alive_s)
    try:
        yield made
    finally:
        made.close()
        await asyncio.sleep(0)


async def read_request(reader: Reader) -> bytes:
    return await reader.readexactly(len(REQUEST))


async def asked(to: Pool, address: str) -> tuple[int, bytes]:
    connection = await to.ask(address, REQUEST)
    body = await connection.rest()
    to.release(address, connection)
    return connection.status, body


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize(
    ("sent", "status"), [(SIZED, 200), (CHUNKED, 201), (UNTIL_CLOSE, 200), (AFTER_CONTINUE, 200)]
)
async def test_an_answer_is_read_whole_however_it_is_framed_and_cut(
    sent: bytes, status: int, step: int
) -> None:
    async def answer(reader: Reader, writer: Writer) -> None:
        assert await read_request(reader) == REQUEST
        for start in range(0, len(sent), step):
            writer.write(sent[start : start + step])
            await writer.drain()
            await asyncio.sleep(0)
        if sent == UNTIL_CLOSE:
            writer.close()

    async with server(answer) as address, pool() as to:
        assert await asked(to, address) == (status, b"hello")


@pytest.mark.parametrize("length", range(len(SIZED)))
async def test_an_answer_cut_short_anywhere_is_broken(length: int) -> None:
    async def answer(reader: Reader, writer: Writer) -> None:
        await read_request(reader)
        writer.write(SIZED[:length])
        writer.close()

    async with server(answer) as address, pool() as to:
        with pytest.raises(ConnectionBroken):
            await asked(to, address)


async def test_what_is_no_http_is_broken() -> None:
    async def answer(reader: Reader, writer: Writer) -> None:
        await read_request(reader)
        writer.write(b"220 mail.example ready\r\n")

    async with server(answer) as address, pool() as to:
        with pytest.raises(ConnectionBroken, match="not HTTP"):
            await asked(to, address)


async def test_requests_in_turn_share_a_connection() -> None:
    connections = 0

    async def answer(reader: Reader, writer: Writer) -> None:
        nonlocal connections
        connections += 1
        for _ in range(3):
            await read_request(reader)
            writer.write(SIZED)

    async with server(answer) as address, pool() as to:
        for _ in range(3):
            assert await asked(to, address) == (200, b"hello")
    assert connections == 1


async def test_a_kept_connection_that_its_server_closed_is_replaced() -> None:
    connections = 0

    async def answer(reader: Reader, writer: Writer) -> None:
        nonlocal connections
        connections += 1
        await read_request(reader)
        writer.write(SIZED)
        await reader.readexactly(len(REQUEST))  # then closes without a word
        writer.close()

    async with server(answer) as address, pool() as to:
        assert await asked(to, address) == (200, b"hello")
        assert await asked(to, address) == (200, b"hello")
    assert connections == 2


async def test_a_connection_is_not_kept_when_its_server_says_close() -> None:
    connections = 0

    async def answer(reader: Reader, writer: Writer) -> None:
        nonlocal connections
        connections += 1
        await read_request(reader)
        writer.write(SIZED.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        assert await reader.read() == b""
        writer.close()

    async with server(answer) as address, pool() as to:
        await asked(to, address)
        await asked(to, address)
    assert connections == 2


async def test_an_answer_left_in_the_middle_closes_its_connection() -> None:
    ended = asyncio.Event()

    async def answer(reader: Reader, writer: Writer) -> None:
        await read_request(reader)
        writer.write(SIZED[:-2])
        assert await reader.read() == b""
        ended.set()

    async with server(answer) as address, pool() as to:
        to.release(address, await to.ask(address, REQUEST))
        await asyncio.wait_for(ended.wait(), 5)


async def test_an_idle_connection_is_closed_after_a_while() -> None:
    ended = asyncio.Event()

    async def answer(reader: Reader, writer: Writer) -> None:
        await read_request(reader)
        writer.write(SIZED)
        assert await reader.read() == b""
        ended.set()

    async with server(answer) as address, pool(keep_alive_s=0.05) as to:
        await asked(to, address)
        await asyncio.wait_for(ended.wait(), 5)


async def test_a_slow_reader_makes_the_replica_wait() -> None:
    size, sent = 64 * MOST_WAITING_BYTES, 0

    async def answer(reader: Reader, writer: Writer) -> None:
        nonlocal sent
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        while sent < size:
            writer.write(bytes(1 << 16))
            await writer.drain()
            sent += 1 << 16

    async with server(answer) as address, pool() as to:
        connection = await to.ask(address, REQUEST)
        before = -1
        while sent != before:  # until nothing moves any more
            before = sent
            await asyncio.sleep(0.1)
        assert sent < size // 2
        assert len(await connection.rest()) == size


async def test_an_address_where_nobody_listens_is_told() -> None:
    async with server(lambda _reader, _writer: asyncio.sleep(0)) as address:
        pass
    async with pool() as to:
        with pytest.raises(OSError, match="Connect call failed"):
            await to.ask(address, REQUEST)


async def test_bytes_that_nobody_asked_for_end_a_connection() -> None:
    connection = Connection()

    async def answer(_reader: Reader, writer: Writer) -> None:
        writer.write(SIZED)

    async with server(answer) as address:
        port = int(address.rsplit(":", 1)[1])
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: connection, "127.0.0.1", port)
        while not connection.is_closed:
            await asyncio.sleep(0.01)
        with pytest.raises(ConnectionBroken, match="unasked"):
            connection.send(REQUEST)


def test_it_runs_on_uvloop_too() -> None:
    async def answer(reader: Reader, writer: Writer) -> None:
        await read_request(reader)
        writer.write(CHUNKED)

    async def run() -> tuple[int, bytes]:
        async with server(answer) as address, pool() as to:
            return await asked(to, address)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run()) == (201, b"hello")
