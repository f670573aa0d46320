"""How a request reaches a replica: straight to its own HTTP port, or through a Ray handle."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import aiohttp

from turnout.errors import TurnoutError
from turnout.gateway.replicas import Replica

JSON_HEADERS = {"content-type": "application/json"}


class ReplicaUnreachable(TurnoutError):
    """No connection to a replica, or it broke before an answer began: another may be tried."""

    def __init__(self, replica_id: str, problem: str) -> None:
        super().__init__(replica_id, problem)
        self.replica_id, self.problem = replica_id, problem

    def __str__(self) -> str:
        return f"replica {self.replica_id} is unreachable ({self.problem})"


class AnswerBroken(TurnoutError):
    """The replica broke off in the middle of its answer."""

    def __init__(self, replica_id: str, problem: str) -> None:
        super().__init__(replica_id, problem)
        self.replica_id, self.problem = replica_id, problem

    def __str__(self) -> str:
        return f"replica {self.replica_id} broke off its answer ({self.problem})"


@dataclass(frozen=True)
class Answer:
    """A replica's answer; `chunks` raises `AnswerBroken` when it ends early."""

    status: int
    content_type: str
    chunks: AsyncIterator[bytes]

    async def read(self) -> bytes:
        """Returns the whole body."""
        return b"".join([chunk async for chunk in self.chunks])


class Transport(Protocol):
    """Sends one POST to a replica; leaving the context aborts what still runs there."""

    def send(self, replica: Replica, path: str, body: bytes) -> AbstractAsyncContextManager[Answer]:
        """Yields the answer once its head is there; raises `ReplicaUnreachable`."""
        ...


class DirectTransport:
    """Streams from a replica's own port over pooled connections (decision 0002)."""

    def __init__(self, connect_timeout_s: float = 2.0) -> None:
        self.connect_timeout_s = connect_timeout_s
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)

    @asynccontextmanager
    async def send(self, replica: Replica, path: str, body: bytes) -> AsyncIterator[Answer]:
        """Yields the answer; leaving early closes the connection: the engine stops its work."""
        url = f"{replica.address}{path}"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self.connect_timeout_s)
        try:
            response = await self._session.post(
                url, data=body, headers=JSON_HEADERS, timeout=timeout
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ReplicaUnreachable(replica.id, type(error).__name__) from error
        try:
            content_type = response.headers.get("content-type", "application/json")
            yield Answer(response.status, content_type, _chunks(replica.id, response))
        finally:
            # release() would keep reading an unfinished stream; close() tells the engine to stop.
            if response.content.at_eof():
                response.release()
            else:
                response.close()

    async def close(self) -> None:
        """Closes every pooled connection."""
        await self._session.close()


async def _chunks(replica_id: str, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, TimeoutError) as error:
        raise AnswerBroken(replica_id, type(error).__name__) from error
