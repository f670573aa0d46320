"""Sends a line through the gateway itself, in this process: the same limits, prices and records."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from turnout.access.caller import Caller
from turnout.batches.verdict import Answer

Message = MutableMapping[str, Any]
App = Callable[..., Awaitable[None]]
"""An ASGI app: the gateway."""
CALLER, PRIORITY, USAGE_ID = "turnout.caller", "turnout.priority", "turnout.usage_id"
"""Extensions of the scope, which nothing that comes over the network can set."""


@dataclass(frozen=True)
class Question:
    """One line's request."""

    path: str
    body: bytes
    caller: Caller
    request_id: str
    usage_id: str
    """The id of its usage record: a line that is answered twice is charged once."""


async def ask(app: App, question: Question) -> Answer:
    """Returns the answer; cancelling it stops the engine's work."""
    call = _Call(question.body)
    await app(_scope(question), call.receive, call.send)
    return Answer(call.status, call.headers, b"".join(call.parts))


def _scope(question: Question) -> Mapping[str, Any]:
    headers = {
        "content-type": "application/json",
        "content-length": str(len(question.body)),
        "x-request-id": question.request_id,
    }
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": question.path,
        "raw_path": question.path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        CALLER: question.caller,
        PRIORITY: "batch",
        USAGE_ID: question.usage_id,
    }


class _Call:
    """Both ends of one ASGI call."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self.status, self.headers, self.parts = 0, dict[str, str](), list[bytes]()

    async def receive(self) -> Message:
        if self._body is None:
            await asyncio.Event().wait()  # this client stays
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            pairs = message["headers"]
            self.headers = {name.decode().lower(): value.decode("latin-1") for name, value in pairs}
        else:
            self.parts.append(message.get("body", b""))
