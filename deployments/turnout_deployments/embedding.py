"""The Serve application of one embedding model: replicas with an HTTP port of their own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import ray
from ray import serve
from ray.serve.deployment import Application

from turnout.config.embedding_args import EmbeddingArgs
from turnout.config.settings import Market
from turnout.gateway.replicas import EngineLoad
from turnout_deployments.asgi_call import Answer, call
from turnout_deployments.http_port import HttpPort, listen
from turnout_deployments.locked import Locked, port_key
from turnout_deployments.model import Model
from turnout_deployments.placement import MAX_ONGOING_REQUESTS, ROUTING_STATS_PERIOD_S

if TYPE_CHECKING:
    from turnout.embeddings.embedder import Embedder


def build(args: dict[str, Any]) -> Application:
    """Builds an embedding model's application; the import path of `config.yaml`."""
    model = EmbeddingArgs.model_validate(args)
    define: Any = serve.deployment
    pools = {
        market: define(EmbeddingReplica, **options(model, market)).bind(args, market)
        for market in model.pools
    }
    root = define(Model, name="Model", ray_actor_options={"num_cpus": 0})
    application: Application = root.bind(model.model, pools)
    return application


def options(args: EmbeddingArgs, market: Market) -> dict[str, Any]:
    """Returns the Serve deployment options of one pool, replica bounds aside."""
    bundle = dict(args.resources)
    options: dict[str, Any] = {
        "name": market,
        "placement_group_bundles": [bundle],
        "ray_actor_options": {
            "num_cpus": bundle.get("CPU", 0),
            "num_gpus": bundle.get("GPU", 0),
            "runtime_env": {"env_vars": dict(args.environment)},
        },
        "max_ongoing_requests": MAX_ONGOING_REQUESTS,
        "request_router_config": {"request_routing_stats_period_s": ROUTING_STATS_PERIOD_S},
        "health_check_period_s": 2,
        "health_check_timeout_s": 30,
        "graceful_shutdown_timeout_s": 20,
    }
    if labels := dict(args.pools[market].node_labels):
        options["placement_group_bundle_label_selector"] = [labels]
    return options


class EmbeddingReplica:
    """Hosts one embedding model and serves its HTTP API on its own port, as engines do."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self, args: dict[str, Any], market: str
    ) -> None:
        """Loads the model and opens the port; returns when it can answer."""
        from turnout.embeddings.api import embedding_api  # noqa: PLC0415 - only replicas need it
        from turnout.embeddings.batcher import Batcher  # noqa: PLC0415

        self._args = EmbeddingArgs.model_validate(args)
        self._market = market
        embedder = await asyncio.to_thread(_load, self._args)
        self._batcher = Batcher(embedder, self._args.batch_size)
        (first,) = embedder.tokens(["The first text takes longest."])
        await self._batcher.vectors([first.ids])
        self._app = embedding_api(self._args.model, embedder, self._batcher)
        self._key = port_key(os.environ)
        sock = listen(self._host(), self._args.http_port_range)
        self._port = HttpPort(Locked(self._app, self._key), sock)
        await self._port.start()

    def _host(self) -> str:
        if self._args.http_host == "node_ip":
            return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]
        return self._args.http_host

    def record_replica_metadata(self) -> dict[str, Any]:
        """Tells every handle of this pool where the replica answers (Serve's own hook)."""
        return {
            "address": self._port.address,
            "key": self._key,
            "model": self._args.model,
            "market": self._market,
            "context_window": self._args.context_window,
            # A batch that is computed and a full one to follow it; the rest waits in gateways.
            "max_running": 2 * self._args.batch_size,
        }

    def record_routing_stats(self) -> dict[str, Any]:
        """Tells every handle of this pool how busy the replica is (Serve's own hook)."""
        load = EngineLoad(waiting=self._batcher.waiting, running=self._batcher.running)
        return asdict(load)

    async def check_health(self) -> None:
        """Raises when the port has closed; Serve then replaces the replica."""
        if not self._port.is_serving:
            raise RuntimeError(f"the HTTP port {self._port.address} has closed")

    async def asgi(self, path: str, body: bytes) -> AsyncIterator[Answer]:
        """Answers one POST through a handle: the fallback where the port cannot be reached."""
        async for part in call(self._app, path, body):
            yield part


def _load(args: EmbeddingArgs) -> Embedder:
    from turnout.embeddings.sentence_model import SentenceModel  # noqa: PLC0415 - imports torch

    return SentenceModel.load(args.source, args.device, args.context_window)
