"""Serve's direct ingress without Serve's own work on each request: Ray's private API again.

Behind HAProxy a replica has an HTTP port of its own, and Serve wraps each request there: metadata,
two tasks, two queues, middlewares, metrics. That was a third of what a request costs here, and all
that a gateway needs of it is that Serve knows how many requests run (for drains and autoscaling).
tests/deployments checks the attributes used here against the pinned version.
"""

from __future__ import annotations

import asyncio
from typing import Any

import ray
from ray.serve._private.common import RequestMetadata, RequestProtocol

from turnout_deployments.serve_listener import Asgi, ServeHttp


def answer_directly(app: Asgi) -> None:
    """Makes this replica's HTTP port ask `app`, before Serve opens the port.

    Nothing changes where user code has a thread of its own (`RAY_SERVE_THROUGHPUT_OPTIMIZED` is
    not set): the port's event loop is another one then.
    """
    worker: Any = ray._private.worker.global_worker
    replica = worker.actors[worker.actor_id]._replica_impl
    if replica._event_loop is asyncio.get_running_loop():
        ServeHttp.ingress = DirectIngress(app, replica)


class DirectIngress:
    """Counts requests on the replica while the app answers them."""

    def __init__(self, app: Asgi, replica: Any) -> None:
        """`replica` is Serve's."""
        self._app = app
        self._count = replica._metrics_manager
        self._kind = RequestMetadata(
            request_id="",
            internal_request_id="",
            _request_protocol=RequestProtocol.HTTP,
            is_direct_ingress=True,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answers one request, whose id no middleware of Serve's will send."""
        scope["turnout.sends_id"] = True
        self._count.inc_num_ongoing_requests(self._kind)
        try:
            await self._app(scope, receive, send)
        finally:
            self._count.dec_num_ongoing_requests(self._kind)
