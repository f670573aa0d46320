"""Connections kept open to replicas, and the requests that go over them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from turnout.gateway.wire.connection import Connection, ConnectionBroken, connect


@dataclass
class _Idle:
    connection: Connection
    since_s: float


class Pool:
    """Keeps idle connections by address; the one used last is used next."""

    def __init__(self, connect_timeout_s: float, keep_alive_s: float) -> None:
        self.connect_timeout_s = connect_timeout_s
        self._keep_alive_s = keep_alive_s
        self._idle: dict[str, deque[_Idle]] = {}
        self._busy: set[Connection] = set()
        self._sweeper: asyncio.TimerHandle | None = None

    async def ask(self, address: str, request: bytes) -> Connection:
        """Sends a request and returns the connection once the answer's head is there.

        A kept connection that turns out to be closed before any byte of an answer is replaced by
        a new one, once. Raises OSError, TimeoutError or `ConnectionBroken`.
        """
        kept = self._kept(address)
        if kept is not None:
            try:
                return await self._asked(kept, request)
            except ConnectionBroken:
                if kept.has_answer:
                    raise
        where = urlsplit(address)
        if where.hostname is None:
            raise ConnectionBroken("not an address")
        fresh = await connect(where.hostname, where.port or 80, self.connect_timeout_s)
        return await self._asked(fresh, request)

    async def _asked(self, connection: Connection, request: bytes) -> Connection:
        self._busy.add(connection)
        try:
            connection.send(request)
            await connection.head()
        except BaseException:
            self._busy.discard(connection)
            connection.close()
            raise
        return connection

    def release(self, address: str, connection: Connection) -> None:
        """Takes a connection back; closes it where its answer is not whole."""
        self._busy.discard(connection)
        if not connection.can_be_reused:
            connection.close()
            return
        self._idle.setdefault(address, deque()).append(_Idle(connection, time.monotonic()))
        if self._sweeper is None:
            loop = asyncio.get_running_loop()
            self._sweeper = loop.call_later(self._keep_alive_s, self._sweep)

    def close(self) -> None:
        """Closes every connection."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connection in (*self._busy, *(idle.connection for idle in self._every_idle())):
            connection.close()
        self._idle.clear()
        self._busy.clear()

    def _kept(self, address: str) -> Connection | None:
        waiting = self._idle.get(address)
        oldest = time.monotonic() - self._keep_alive_s
        while waiting:
            idle = waiting.pop()
            if idle.since_s > oldest and idle.connection.can_be_reused:
                return idle.connection
            idle.connection.close()
        return None

    def _every_idle(self) -> Iterator[_Idle]:
        for waiting in self._idle.values():
            yield from waiting

    def _sweep(self) -> None:
        """Closes what nobody used for a while, so that gone replicas leave nothing behind."""
        self._sweeper = None
        oldest = time.monotonic() - self._keep_alive_s
        for address, waiting in list(self._idle.items()):
            while waiting and waiting[0].since_s <= oldest:
                waiting.popleft().connection.close()
            if not waiting:
                del self._idle[address]
        if self._idle:
            loop = asyncio.get_running_loop()
            self._sweeper = loop.call_later(self._keep_alive_s, self._sweep)
