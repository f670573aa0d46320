"""The HTTP server that Serve itself starts in a gateway replica: bounds on its clients, and whom
it asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from uvicorn.config import HTTP_PROTOCOLS

from turnout.gateway.listener import GuardedHttp

Asgi = Callable[[Any, Any, Any], Awaitable[None]]
SERVES_OWN_PATHS = "/-/"
"""Serve's health check and routes."""


class ServeHttp(GuardedHttp):
    """Asks Serve's app, with its middlewares, or the `ingress` for all but Serve's own paths."""

    ingress: ClassVar[Asgi | None] = None

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        is_serves = _path(cycle.scope).startswith(SERVES_OWN_PATHS)
        super()._start_asgi_task(cycle, app if is_serves else type(self).ingress or app)


def guard_serve_listener() -> None:
    """Has every uvicorn server that this process starts from now on use `ServeHttp`.

    Serve names no protocol, which is uvicorn's "auto"; it has no setting for another.
    """
    HTTP_PROTOCOLS["auto"] = f"{ServeHttp.__module__}:{ServeHttp.__name__}"


def _path(scope: Any) -> str:
    """Returns the path below `http_options.root_path`, which servers put before it."""
    return str(scope["path"].removeprefix(scope.get("root_path", "")))
