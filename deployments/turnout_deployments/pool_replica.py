"""What replicas of every kind have: an HTTP port that only gateways may ask, and Serve's hooks."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import ray

from turnout.config.embedding_args import EmbeddingArgs
from turnout.config.model_args import ModelArgs, ReplicaArgs
from turnout_deployments.asgi_call import Answer, call
from turnout_deployments.http_port import HttpPort, listen
from turnout_deployments.locked import Locked, port_key


class PoolReplica:
    """One replica of a pool; a kind of its own starts what answers, then calls `_open`."""

    async def _open(
        self, app: Any, args: ModelArgs | EmbeddingArgs, market: str, max_running: int
    ) -> None:
        """Opens the port over an ASGI app that answers by now."""
        self._app, self._key = app, port_key(os.environ)
        self._port = HttpPort(Locked(app, self._key), listen(_host(args), args.http_port_range))
        await self._port.start()
        self._told = {
            "address": self._port.address,
            "key": self._key,
            "model": args.model,
            "market": market,
            "context_window": args.context_window,
            "max_running": max_running,
        }

    def record_replica_metadata(self) -> dict[str, Any]:
        """Tells every handle of this pool where the replica answers (Serve's own hook)."""
        return self._told

    async def check_health(self) -> None:
        """Raises when the port has closed; Serve then replaces the replica."""
        if not self._port.is_serving:
            raise RuntimeError(f"the HTTP port {self._port.address} has closed")

    async def asgi(self, path: str, body: bytes) -> AsyncIterator[Answer]:
        """Answers one POST through a handle: the fallback where the port cannot be reached."""
        async for part in call(self._app, path, body):
            yield part


def _host(args: ReplicaArgs) -> str:
    if args.http_host == "node_ip":
        return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]
    return args.http_host
