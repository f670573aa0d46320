"""How a request reaches a replica: straight to its own HTTP port, or through a Ray handle."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import aiohttp

from turnout.errors import TurnoutError
from turnout.gateway.replicas import Replica

# "identity": a compressed answer could not be read on its way through.
JSON_HEADERS = {"content-type": "application/json", "accept-encoding": "identity"}
# Below uvicorn's 5 s: a connection must not be used just as the replica closes it.
KEEP_ALIVE_S = 3.0


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
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S)
        self._session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
        )

    @asynccontextmanager
    async def send(self, replica: Replica, path: str, body: bytes) -> AsyncIterator[Answer]:
        """Yields the answer; leaving early closes the connection: the engine stops its work."""
        url = f"{replica.address}{path}"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self.connect_timeout_s)
        try:
            response = await self._session.post(
                url, data=body, headers=JSON_HEADERS, timeout=timeout, allow_redirects=False
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ReplicaUnreachable(replica.id, type(error).__name__) from error
        try:
            content_type = response.headers.get("content-type", "application/json")
            async with aclosing(_chunks(replica.id, response)) as chunks:
                yield Answer(response.status, content_type, chunks)
        finally:
            # A whole answer has given its connection back already; of any other, closing the
            # connection tells the engine to stop.
            response.close()

    async def close(self) -> None:
        """Closes every pooled connection."""
        await self._session.close()


async def _chunks(replica_id: str, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, TimeoutError) as error:
        raise AnswerBroken(replica_id, type(error).__name__) from error
