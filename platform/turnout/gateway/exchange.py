"""One HTTP exchange on raw ASGI: reading a bounded body, answering, noticing a client that left."""

import asyncio
import re
import secrets
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Mapping,
    MutableMapping,
    Sequence,
)
from typing import Any

from turnout.access.caller import Caller
from turnout.gateway.accounting import Account
from turnout.gateway.departure import DEPARTURE, Departure
from turnout.gateway.dialect import Dialect, Events, OpenAI
from turnout.gateway.errors import BodyTooLarge, RequestError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class ClientLeft(Exception):
    """The client closed its connection."""


class Exchange:
    """The request being answered, with the headers that every answer carries."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, *, sends_id: bool = True
    ) -> None:
        self._sends_id = scope.get("turnout.sends_id", sends_id)
        self._receive, self._send = receive, send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope.get("query_string", b"")
        self.headers = {name.lower(): value for name, value in scope["headers"]}
        self.id = _request_id(self.headers.get(b"x-request-id", b""))
        self.priority: str | None = scope.get("turnout.priority")
        """What this process says of the request's priority; None leaves it to the client."""
        # What only this process can say of a request, as it does of a batch's lines.
        self.caller: Caller | None = scope.get("turnout.caller")
        self.usage_id: str | None = scope.get("turnout.usage_id")
        self._departure: Departure | None = scope.get(DEPARTURE)
        self.model = "none"
        self.decision = "none"
        self.dialect: Dialect = OpenAI("chat")
        self._events: Events | None = None
        self.account: Account | None = None
        self.more_headers: dict[str, str] = {}
        self.started_ns = time.perf_counter_ns()
        self.status = 0
        self.has_ended = False
        self._has_left = False
        self._marks: dict[str, int] = {}

    @property
    def has_begun(self) -> bool:
        """Whether the answer's head is out: after that, errors can only end the body."""
        return self.status != 0

    def mark(self, name: str) -> None:
        """Notes that a step is done, for the `server-timing` header."""
        self._marks[name] = time.perf_counter_ns()

    def lap_s(self, start: str, end: str) -> float:
        """Returns the seconds between two marks."""
        return (self._marks[end] - self._marks[start]) / 1e9

    def elapsed_s(self) -> float:
        """Returns the seconds since the request came in."""
        return (time.perf_counter_ns() - self.started_ns) / 1e9

    async def body(self, limit_bytes: int) -> bytes:
        """Returns the whole body; raises `BodyTooLarge` (at once) or `ClientLeft`."""
        declared = self.headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > limit_bytes:
            raise BodyTooLarge(limit_bytes)
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientLeft
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > limit_bytes:
                raise BodyTooLarge(limit_bytes)
            if not message.get("more_body"):
                return b"".join(parts)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body as it comes; raises `ClientLeft`."""
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientLeft
            yield message.get("body", b"")
            if not message.get("more_body"):
                return

    async def while_client_stays(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs `work` to its end; cancels it, and so the engine's part, when the client leaves.

        Raises what `work` raises, or `ClientLeft`.
        """
        task = asyncio.current_task()
        assert task is not None
        departure, watch = self._departure, None

        def leave() -> None:
            # Servers report a whole answer as a client that left, too.
            if not self.has_ended:
                self._has_left = True
                task.cancel()

        if departure is None:
            watch = asyncio.create_task(self._wait_until_client_leaves(leave))
        try:
            if departure is not None:
                departure.then(leave)
            await work
        except (asyncio.CancelledError, Exception) as error:
            if not self._has_left:
                raise
            task.uncancel()
            raise ClientLeft from error  # also where cleaning up failed
        finally:
            if watch is not None:
                watch.cancel()
            if departure is not None:
                departure.then(None)

    async def _wait_until_client_leaves(self, then: Callable[[], None]) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        then()

    async def begin(self, status: int, content_type: str, more: Mapping[str, str] = {}) -> None:
        """Sends the answer's head."""
        headers = {
            "content-type": content_type,
            "x-turnout-model": self.model,
            "x-turnout-decision": self.decision,
            "server-timing": self._timing(),
            **self.more_headers,
            **more,
        }
        if self._sends_id:
            headers["x-request-id"] = self.id
        self.status = status
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def write(self, data: bytes) -> None:
        """Sends a piece of the body."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        """Sends the last piece of the body."""
        self.has_ended = True
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def send_events(self, events: Sequence[bytes], *, last: bool) -> None:
        """Sends whole events of an engine's stream in the client's dialect; `last` ends it."""
        if self._events is None:
            self._events = self.dialect.events()
        data = self._events.feed(events)
        if last:
            await self.end(data)
        elif data:
            await self.write(data)

    async def send_whole(self, data: bytes, content_type: str) -> None:
        """Sends an engine's whole answer in the client's dialect."""
        await self.answer(self.dialect.whole(data), content_type)

    async def answer(
        self,
        data: bytes,
        content_type: str = "application/json",
        status: int = 200,
        more: Mapping[str, str] = {},
    ) -> None:
        """Sends a whole answer."""
        await self.begin(status, content_type, {"content-length": str(len(data)), **more})
        await self.end(data)

    async def refuse(self, error: RequestError) -> None:
        """Answers with an error in OpenAI's shape; a stream that has begun ends with it.

        `status` then tells how the request ended, whatever the head said before.
        """
        if self.has_ended:
            return
        if self.has_begun:
            self.status = error.status
            await self.end(self.dialect.error_event(error))
            return
        if self.decision == "none":
            self.decision = f"refused: {error.code or error.type}"
        await self.answer(self.dialect.error(error), status=error.status, more=error.headers)

    def _timing(self) -> str:
        last, steps = self.started_ns, []
        for name, at in self._marks.items():
            steps.append(f"{name};dur={(at - last) / 1e6:.2f}")
            last = at
        return ", ".join(steps) or f"total;dur={self.elapsed_s() * 1e3:.2f}"


def _request_id(sent: bytes) -> str:
    """Returns the client's own request id where it is a plain one, else a new one."""
    text = sent.decode("latin-1")
    return text if _REQUEST_ID.fullmatch(text) else f"req-{secrets.token_hex(12)}"
