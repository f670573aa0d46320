"""A replica's own port is open to who has its key, and its gateway has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from turnout.gateway.replicas import Replica
from turnout.gateway.transport import DirectTransport
from turnout_deployments.http_port import HttpPort, listen
from turnout_deployments.locked import KEY_FILE, Locked, port_key

KEY = "k" * 64


async def ok(_scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 201, "headers": []})
    await send({"type": "http.response.body"})


@asynccontextmanager
async def opened() -> AsyncIterator[HttpPort]:
    port = HttpPort(Locked(ok, KEY), listen("127.0.0.1", None))
    await port.start()
    try:
        yield port
    finally:
        await port.close()


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("authorization", KEY)],
        [("authorization", f"Bearer {KEY}x")],
        [("authorization", f"Bearer {KEY[:-1]}")],
        [("authorization", f"Basic {KEY}")],
        [("authorization", "Bearer")],
        [("authorization", "Bearer \xff")],
        [("x-api-key", KEY)],
        [("authorization", f"Bearer {KEY}"), ("authorization", "Bearer x")],
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/tokenize", "/health/../v1/models"])
async def test_nobody_without_the_key_is_answered(
    headers: list[tuple[str, str]], path: str
) -> None:
    async with opened() as port, httpx.AsyncClient() as client:
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        answer = await client.post(port.address + path, content=b"hello", headers=raw)
        assert answer.status_code == 401
        assert answer.json()["error"]["message"] == "this port answers its gateway only"


@pytest.mark.parametrize("path", ["/health", "/metrics"])
async def test_monitoring_needs_no_key_and_may_only_read(path: str) -> None:
    async with opened() as port, httpx.AsyncClient() as client:
        assert (await client.get(port.address + path)).status_code == 201
        assert (await client.post(port.address + path)).status_code == 401


async def test_the_gateway_sends_the_key_that_a_replica_told() -> None:
    transport = DirectTransport()
    async with opened() as port:
        for key, status in ((KEY, 201), ("other", 401), (None, 401)):
            replica = Replica("r", "m", "reserved", port.address, 99, key=key)
            async with transport.send(replica, "/v1/completions", b"hello") as answer:
                assert answer.status == status
                await answer.read()
            assert KEY not in repr(replica)
    await transport.close()


def test_every_replica_makes_its_own_key_unless_a_file_holds_one(tmp_path: Path) -> None:
    made = {port_key({}) for _ in range(3)}
    assert [len(key) for key in made] == [64, 64, 64]
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    assert port_key({KEY_FILE: str(file)}) == KEY
