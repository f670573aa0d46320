"""What a server must do about clients that send too slowly, too much, or never read.

uvicorn's own HTTP/1.1 waits for ever for the rest of a head, keeps heads of any size in memory, and
for ever keeps what a client does not read. It costs an honest request nothing: a timer per
connection looks at it now and then.
"""

import asyncio
import json
import socket
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from turnout.gateway.departure import DEPARTURE, Departure
from turnout.gateway.heads import Reply

_LOOKS = 4
"""Looks that must find a client late, one after the other."""


@dataclass(frozen=True)
class Bounds:
    """What a client may take."""

    head_s: float = 10.0
    """For a request's head, once the connection is open or the head has begun; and for what is left
    of a body after its answer."""
    unread_s: float = 60.0
    """For reading any of what was sent."""
    head_bytes: int = 64 * 1024
    headers: int = 100


class GuardedHttp(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 with bounds on heads, and on clients that do not read."""

    bounds = Bounds()

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._head_bytes = 0
        self._is_refused = False
        self._last_cycle: Any = None
        self._answering: Any = None
        """The cycle whose app runs; of requests sent at once `cycle` is the last one."""
        self._looks_late = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to look, and has the kernel end the connection of a client that does not read."""
        super().connection_made(transport)
        sock = transport.get_extra_info("socket")
        unread_ms = int(self.bounds.unread_s * 1000)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unread_ms)
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops looking."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)
        if self._answering is not None and not self._answering.response_complete:
            self._answering.scope[DEPARTURE].happen()

    def data_received(self, data: bytes) -> None:
        """Counts the bytes of a head that is not whole yet."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before or not self._awaits_head:
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > self.bounds.head_bytes and not self.transport.is_closing():
            self._is_refused = True
            self.send_400_response("")

    def on_headers_complete(self) -> None:
        """Takes the head; raises, which the parser turns into a refusal, where it is too much."""
        if len(self.headers) > self.bounds.headers:
            self._is_refused = True
            raise ValueError("too many headers")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Notes that the body is whole, also where its answer was there before it.

        Reads on: a large body may have paused it, and that its client leaves has to be seen.
        """
        super().on_message_complete()
        if self.cycle is not None:
            self.cycle.more_body = False
            if not self.pipeline:
                self.flow.resume_reading()

    def on_response_complete(self) -> None:
        """Takes the reply from its cycle: each request would keep itself alive otherwise."""
        self._answering.__dict__.pop("send", None)
        super().on_response_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        cycle.send = Reply(cycle)
        cycle.scope[DEPARTURE] = Departure()
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:
        """Answers what is no request, and a head above its bounds with 431."""
        if not self._is_refused:
            super().send_400_response(msg)
            return
        bounds = self.bounds
        most = f"{bounds.head_bytes} bytes and {bounds.headers} headers"
        told = f"the request's head is above this gateway's limits of {most}"
        error = {"message": told, "type": "invalid_request_error", "param": None, "code": None}
        body = json.dumps({"error": error}).encode()
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
        self.transport.write(STATUS_LINE[431] + head % len(body) + body)
        self.transport.close()

    @property
    def _awaits_head(self) -> bool:
        cycle = self.cycle
        return cycle is None or (cycle.response_complete and not cycle.more_body)

    def _look_later(self) -> None:
        self._timer = self.loop.call_later(self.bounds.head_s / _LOOKS, self._look)

    def _look(self) -> None:
        """Ends the connection where each of the last looks found the same request late.

        uvicorn's keep-alive timer runs while nothing has come since the last answer.
        """
        cycle, is_idle = self.cycle, self.timeout_keep_alive_task is not None
        is_late = (cycle is None or cycle.response_complete) and not is_idle
        is_same = is_late and cycle is self._last_cycle
        self._looks_late = self._looks_late + 1 if is_same else int(is_late)
        self._last_cycle = cycle
        if self._looks_late > _LOOKS:
            self.transport.close()
        else:
            self._look_later()
