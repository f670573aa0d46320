"""The direct hop: what the replica sees of a request, and when connections are used again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from turnout.gateway.replicas import Replica
from turnout.gateway.transport import DirectTransport, ReplicaUnreachable

if TYPE_CHECKING:
    from tests.platform.gateway.fake_engine import FakeEngine
    from tests.platform.gateway.system import System


async def test_a_clients_headers_stay_at_the_gateway(system: System, small: FakeEngine) -> None:
    headers = {"authorization": "Bearer k", "cookie": "c=1", "x-request-id": "mine", "x-own": "1"}
    await system.post(
        {"model": "small", "messages": [{"role": "user"}]}, headers={**headers, "accept": "x/y"}
    )
    (seen,) = small.headers
    assert not headers.keys() & seen.keys()
    assert seen["accept-encoding"] == "identity"
    assert seen["content-type"] == "application/json"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_connection_is_used_again_after_an_answer(
    system: System, small: FakeEngine, stream: bool
) -> None:
    for _ in range(3):
        await system.chat(stream=stream)
    assert len(set(small.connections)) == 1


async def test_a_connection_is_used_again_after_the_engines_refusal(
    system: System, small: FakeEngine
) -> None:
    small.answer = (400, b'{"detail": "x"}')
    for _ in range(3):
        await system.chat()
    assert len(set(small.connections)) == 1


async def test_a_connection_left_amid_a_stream_is_closed(system: System, small: FakeEngine) -> None:
    small.words, small.delay_s = ("x",) * 1000, 0.01
    async with system.streaming() as answer:
        await anext(answer.aiter_bytes())
    small.words = ("x",)
    await system.chat(stream=True)
    assert len(set(small.connections)) == 2


async def test_a_replica_that_does_not_accept_in_time_is_unreachable() -> None:
    """A listener whose queue is full answers no further connection."""
    server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0, start_serving=False)
    sock = server.sockets[0]
    sock.listen(0)
    port = sock.getsockname()[1]
    waiting = [asyncio.create_task(asyncio.open_connection("127.0.0.1", port)) for _ in range(8)]
    await asyncio.sleep(0.05)
    transport = DirectTransport(connect_timeout_s=0.1)
    replica = Replica("r", "small", "reserved", f"http://127.0.0.1:{port}", 1)
    with pytest.raises(ReplicaUnreachable, match="replica r is unreachable"):
        async with transport.send(replica, "/v1/completions", b"{}"):
            pass
    await transport.close()
    for task in waiting:
        task.cancel()
    opened = await asyncio.gather(*waiting, return_exceptions=True)
    for each in opened:
        if isinstance(each, tuple):
            each[1].transport.abort()
    server.close()
    await asyncio.sleep(0)


@pytest.mark.parametrize("address", [None, "nonsense", "http://", "http://127.0.0.1:1"])
async def test_an_address_that_leads_nowhere_is_unreachable(address: str | None) -> None:
    transport = DirectTransport()
    with pytest.raises(ReplicaUnreachable):
        async with transport.send(Replica("r", "m", "spot", address, 1), "/x", b""):
            pass
    await transport.close()
