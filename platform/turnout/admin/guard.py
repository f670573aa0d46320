"""Stands before the admin API: takes nothing but its own key, and no more than a small body."""

import logging
import traceback
from typing import Any

from prometheus_client import Counter
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnout.access.secret import presented
from turnout.admin.errors import AdminFault, AdminKeyRefused, TooMuchInput
from turnout.admin.key import AdminKeys
from turnout.gateway.errors import RequestError

log = logging.getLogger(__name__)
MOST_BODY_BYTES = 64 * 1024
OPEN_PATHS = ("/healthz", "/metrics", "/openapi.json")


class Guard:
    """Wraps an ASGI app: requests reach it with `scope["state"]["actor"]` and their whole body."""

    def __init__(self, app: ASGIApp, keys: AdminKeys, refused: Counter) -> None:
        self._app, self._keys, self._refused = app, keys, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request."""
        if scope["type"] != "http":
            return
        try:
            await self._answer(scope, receive, send)
        except RequestError as error:
            await answer_of(error)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - the edge: the app has answered, this is logged
            _log_fault(error)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in OPEN_PATHS:
            actor = self._keys.actor(presented(dict(scope["headers"])))
            if actor is None:
                self._refused.inc()
                client = (scope.get("client") or ("unknown",))[0]
                log.warning("admin_refused", extra={"client": client})
                raise AdminKeyRefused
            scope.setdefault("state", {})["actor"] = actor
        body = await _whole(receive)
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, replayed, send)


def answer_of(error: RequestError) -> JSONResponse:
    """Returns an error as an answer in OpenAI's shape."""
    return JSONResponse(error.body(), error.status, dict(error.headers))


async def answer_fault(_request: Any, _error: Exception) -> JSONResponse:
    """Answers for a bug; starlette then raises it again, and `Guard` logs it."""
    return answer_of(AdminFault())


async def _whole(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_BODY_BYTES:
            raise TooMuchInput(MOST_BODY_BYTES)
        if not message.get("more_body"):
            return bytes(body)


def _log_fault(error: Exception) -> None:
    """Logs a fault without its message, which may repeat what was sent."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    log.error("admin_fault", extra={"error": type(error).__name__, "stack": stack})
