"""The direct hop: what the replica sees of a request, and when connections are used again."""

from __future__ import annotations

import socket
from contextlib import ExitStack
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
    """A listener that never accepts, its queue full, leaves a new connection waiting."""
    with socket.socket() as sock, ExitStack() as queue:
        sock.bind(("127.0.0.1", 0))
        sock.listen(0)
        for _ in range(4):
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(sock.getsockname())
        transport = DirectTransport(connect_timeout_s=0.1)
        address = "http://{}:{}".format(*sock.getsockname())
        with pytest.raises(ReplicaUnreachable, match="replica r is unreachable"):
            async with transport.send(Replica("r", "m", "spot", address, 1), "/x", b"{}"):
                pass
        await transport.close()


@pytest.mark.parametrize("address", [None, "nonsense", "http://", "http://127.0.0.1:1"])
async def test_an_address_that_leads_nowhere_is_unreachable(address: str | None) -> None:
    transport = DirectTransport()
    with pytest.raises(ReplicaUnreachable):
        async with transport.send(Replica("r", "m", "spot", address, 1), "/x", b""):
            pass
    await transport.close()
