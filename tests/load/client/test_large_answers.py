"""Answers that do not end are given up before they fill the memory."""

import asyncio
import time
from contextlib import suppress

import pytest

from turnout_load.client import connection
from turnout_load.record import Record
from turnout_load.run.worker import Worker
from turnout_load.spec import Spec, Target

MIB = 2**20
HEAD = b"HTTP/1.1 %d X\r\ncontent-type: %b\r\n\r\n"
JSON, STREAM = b"application/json", b"text/event-stream"


async def flooded(status: int, kind: bytes, piece: bytes, most: int = 10**6) -> tuple[Record, int]:
    """Asks a server that sends this piece again and again; returns how many bytes it could send."""
    sent = 0
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD % (status, kind))
        with suppress(ConnectionError):
            for _ in range(most):
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
        writer.close()
        left.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        spec = Spec(target=Target(url=url, model="m", request_timeout_s=60), requests=1)
        outcome = await Worker(spec, 0, 1).run(time.time_ns())
        await asyncio.wait_for(left.wait(), 30)
    [record] = outcome.records
    return record, sent


@pytest.mark.parametrize("status", [200, 500])
async def test_a_whole_answer_is_given_up_beyond_64_mib(status: int) -> None:
    record, sent = await flooded(status, JSON, b"x" * MIB)
    assert record.error == "too_large"
    assert record.detail == f"status {status}, and more than 64 MiB in one piece"
    assert 64 * MIB < sent < 80 * MIB  # what lies in the sockets' buffers comes on top


@pytest.mark.parametrize("piece", [b"data: xxxxxxxx\n", b"xxxxxxxxxxxxxxx"])
async def test_an_event_without_end_is_given_up_too(
    piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_BYTES", MIB)
    record, _ = await flooded(200, STREAM, piece * 1000)
    assert (record.error, record.status) == ("too_large", 200)


async def test_a_stream_may_be_as_long_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_BYTES", MIB)
    event = b'data: {"choices": [{"delta": {"content": "%b"}}]}\n\n' % (b"x" * 1000)
    record, sent = await flooded(200, STREAM, event, 2000)
    assert sent > MIB
    assert record.chunks == 2000
    assert record.detail == "the stream ended without data: [DONE]"  # and that is all
