"""How a request reaches a replica: straight to its own HTTP port, or through a Ray handle."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from turnout.errors import TurnoutError
from turnout.gateway.replicas import Replica
from turnout.gateway.wire.connection import Connection, ConnectionBroken
from turnout.gateway.wire.pool import Pool

# "identity": a compressed answer could not be read on its way through.
HEADERS = "content-type: application/json\r\naccept-encoding: identity\r\n"
# Below uvicorn's 5 s: a connection must not be used just as the replica closes it.
KEEP_ALIVE_S = 3.0


class ReplicaUnreachable(TurnoutError):
    """No connection to a replica, or it broke before an answer began: another may be tried."""

    def __init__(self, replica_id: str, problem: str) -> None:
        super().__init__(replica_id, problem)
        self.replica_id, self.problem = replica_id, problem

    def __str__(self) -> str:
        return f"replica {self.replica_id} is unreachable ({self.problem})"


class ReplicaBusy(TurnoutError):
    """The replica takes no more requests for now, and is well: an upstream's 429, or our rate."""

    def __init__(
        self, replica_id: str, retry_after_s: float | None, *, is_own_rate: bool = False
    ) -> None:
        """`retry_after_s` is None where nobody said how long."""
        super().__init__(replica_id, retry_after_s)
        self.replica_id, self.retry_after_s = replica_id, retry_after_s
        self.is_own_rate = is_own_rate

    @property
    def problem(self) -> str:
        """What is wrong, in a word for the log."""
        return "own rate" if self.is_own_rate else "busy"

    def __str__(self) -> str:
        return f"replica {self.replica_id} takes no more requests for now ({self.problem})"


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
    """Streams from a replica's own port over kept connections (decisions 0002 and 0009)."""

    def __init__(self, connect_timeout_s: float = 2.0) -> None:
        self._pool = Pool(connect_timeout_s, KEEP_ALIVE_S)

    def configure(self, connect_timeout_s: float) -> None:
        """Takes another time limit for the connections to come."""
        self._pool.connect_timeout_s = connect_timeout_s

    def send(self, replica: Replica, path: str, body: bytes) -> AbstractAsyncContextManager[Answer]:
        """Yields the answer; leaving early closes the connection: the engine stops its work."""
        return _Sending(self._pool, replica, path, body)

    async def close(self) -> None:
        """Closes every connection."""
        self._pool.close()


def _request(address: str, key: str | None, path: str, body: bytes) -> bytes:
    opens = f"authorization: Bearer {key}\r\n" if key else ""
    head = f"POST {path} HTTP/1.1\r\nhost: {address.partition('//')[2]}\r\n{HEADERS}{opens}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


class _Sending(AbstractAsyncContextManager[Answer]):
    """One request to one replica. Classes, not generators: every token passes here."""

    def __init__(self, pool: Pool, replica: Replica, path: str, body: bytes) -> None:
        self._pool, self._replica_id, self._address = pool, replica.id, replica.address or ""
        self._request = _request(self._address, replica.key, path, body)
        self._connection: Connection | None = None

    async def __aenter__(self) -> Answer:
        try:
            self._connection = connection = await self._pool.ask(self._address, self._request)
        except (OSError, TimeoutError, ConnectionBroken) as error:
            raise ReplicaUnreachable(self._replica_id, type(error).__name__) from error
        content_type = connection.headers.get(b"content-type", b"application/json")
        chunks = _Chunks(self._replica_id, connection)
        return Answer(connection.status, content_type.decode("latin-1"), chunks)

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:  # else cancelled before there was an answer
            self._pool.release(self._address, self._connection)


class _Chunks(AsyncIterator[bytes]):
    """An answer's body as it comes."""

    def __init__(self, replica_id: str, connection: Connection) -> None:
        self._replica_id, self._connection = replica_id, connection

    async def __anext__(self) -> bytes:
        try:
            data = await self._connection.chunk()
        except ConnectionBroken as error:
            raise AnswerBroken(self._replica_id, str(error)) from error
        if not data:
            raise StopAsyncIteration
        return data
