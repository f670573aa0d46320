"""Sends single requests over a pool of connections and keeps a record of each, whatever happens."""

from __future__ import annotations

import asyncio
import errno
from collections import Counter

from turnout_load.client.connection import Connection, now_ns
from turnout_load.client.exchange import Exchange
from turnout_load.client.pool import Pool
from turnout_load.client.target import Origin
from turnout_load.record import UNKNOWN, Record
from turnout_load.records import Records
from turnout_load.run.sample import Sample
from turnout_load.spec import Spec

EXPIRE_S = 0.25
"""How often the waits of requests under way are compared with their limits."""

AT_ONCE_NS = 50_000_000
"""How soon after a request a kept connection's end can still be one that crossed it."""
OWN_LIMITS = frozenset((errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL))
"""What connecting fails with where this machine is the one that has no more."""


class Sender:
    """What all conversations of one process share."""

    def __init__(self, spec: Spec, origin: Origin, start_ns: int) -> None:
        self.records = Records()
        self.sample = Sample(spec)
        self.pool = Pool(origin, spec.max_connections)
        self.sent = 0
        self.errors: Counter[str] = Counter()
        self.peak_in_flight = 0
        self._target = spec.target
        self._secrets = origin.secrets
        self._start_ns = start_ns
        self._warm_up_ns = round(spec.warm_up_s * 1e9)
        self._under_way: dict[Exchange, Connection] = {}

    @property
    def in_flight(self) -> int:
        """How many requests are being answered."""
        return len(self._under_way)

    async def send(self, record: Record, payload: bytes, keeps_text: bool) -> str | None:
        """Sends a request and returns the answer's text if kept; the record tells the rest."""
        self.sent += 1
        is_sampled = self.sample.takes(record)
        needs_text = keeps_text or is_sampled
        try:
            exchange, connection = await self._attempt(record, payload, needs_text, anew=False)
            if connection and _was_closed_while_idle(record, connection):
                record.error = record.detail = ""
                exchange, _ = await self._attempt(record, payload, needs_text, anew=True)
        except asyncio.CancelledError:
            record.error, record.end_ns = "unfinished", now_ns() - self._start_ns
            raise
        finally:
            if record.error:
                record.detail = self._without_secrets(record.detail)
                self.errors[record.error] += 1
            self.records.append(record)
        text = "".join(exchange.text or ())
        if is_sampled:
            self.sample.add(record, payload, text if exchange.is_all_text else None)
        return text if keeps_text else None

    async def _attempt(
        self, record: Record, payload: bytes, keeps_text: bool, *, anew: bool
    ) -> tuple[Exchange, Connection | None]:
        ended = asyncio.get_running_loop().create_future()
        is_measured = record.intended_ns >= self._warm_up_ns
        add_gap = self.records.add_gap if is_measured else _leave_out
        exchange = Exchange(record, self._start_ns, add_gap, keeps_text, ended)
        try:
            connection = await (self.pool.open() if anew else self.pool.acquire())
        except OSError as problem:
            kind = "client" if problem.errno in OWN_LIMITS else "connect"
            exchange.on_failure(kind, str(problem) or type(problem).__name__, now_ns())
            return exchange, None
        record.connected = not connection.answered
        record.sent_ns = connection.send(payload, exchange) - self._start_ns
        self._under_way[exchange] = connection
        self.peak_in_flight = max(self.peak_in_flight, len(self._under_way))
        try:
            await ended
        except asyncio.CancelledError:
            connection.close()
            raise
        finally:
            del self._under_way[exchange]
        return exchange, connection

    async def expire(self) -> None:
        """Ends requests that took too long or whose server has gone silent; never returns."""
        while True:
            await asyncio.sleep(EXPIRE_S)
            now = now_ns()
            for exchange, connection in list(self._under_way.items()):
                if failure := self._too_long(exchange, now):
                    connection.close()
                    exchange.on_failure(*failure, now)

    def _without_secrets(self, detail: str) -> str:
        for secret in self._secrets:
            detail = detail.replace(secret, "***")
        return detail

    def _too_long(self, exchange: Exchange, now: int) -> tuple[str, str] | None:
        sent_ns = exchange.record.sent_ns + self._start_ns
        if now - sent_ns > self._target.request_timeout_s * 1e9:
            return "timeout", f"not answered within {self._target.request_timeout_s:g} s"
        if now - max(exchange.heard_ns, sent_ns) > self._target.stall_timeout_s * 1e9:
            return "stalled", f"the server sent nothing for {self._target.stall_timeout_s:g} s"
        return None


def _was_closed_while_idle(record: Record, connection: Connection) -> bool:
    """Says whether the server closed a kept connection before it could see the request.

    Later than that it has seen it, and an answer that breaks off is the server's failure.
    """
    is_at_once = record.end_ns - record.sent_ns < AT_ONCE_NS
    fell_silent = record.error == "closed" and record.status == UNKNOWN
    return fell_silent and connection.answered > 0 and is_at_once


def _leave_out(_gap_ns: int) -> None:
    """Takes a gap of the warm-up, which is in no figure."""
