"""Connections to one origin: the one that was freed last is used first."""

from __future__ import annotations

import asyncio
from collections import deque

from turnout_load.client.connection import Connection
from turnout_load.client.target import Origin

CONNECT_TIMEOUT_S = 10.0


class Pool:
    """Hands out idle connections, or opens more up to a limit; then requests wait in order."""

    def __init__(self, origin: Origin, limit: int) -> None:
        self._origin = origin
        self._tls = origin.tls()
        self._limit = limit
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._opening = 0
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self.opened = 0

    async def acquire(self) -> Connection:
        """Returns an idle connection; raises `OSError` where none can be opened."""
        while True:
            while self._idle:
                connection = self._idle.pop()
                if connection.is_open:
                    return connection
            if len(self._all) + self._opening < self._limit:
                return await self.open()
            freed: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
            self._waiting.append(freed)
            handed = await freed
            if handed is not None and handed.is_open:
                return handed

    async def open(self) -> Connection:
        """Opens a connection, whether idle ones exist or not; raises `OSError`."""
        self._opening += 1
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Connection(self._released),
                    self._origin.host,
                    self._origin.port,
                    ssl=self._tls,
                )
        except OSError:
            self._hand(None)
            raise
        except UnicodeError as problem:
            raise OSError(f"{self._origin.host!r} is no host name: {problem}") from None
        finally:
            self._opening -= 1
        self.opened += 1
        self._all.add(connection)
        return connection

    def close(self) -> None:
        """Closes every connection."""
        for connection in list(self._all):
            connection.close()

    def _released(self, connection: Connection) -> None:
        if not connection.is_open:
            self._all.discard(connection)
            self._hand(None)
        elif not self._hand(connection):
            self._idle.append(connection)

    def _hand(self, connection: Connection | None) -> bool:
        """Gives the longest waiting request a connection, or word that it may open one."""
        while self._waiting:
            freed = self._waiting.popleft()
            if not freed.done():
                freed.set_result(connection)
                return True
        return False
