"""The Serve application of one embedding model: replicas with an HTTP port of their own."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ray.serve.deployment import Application

from turnout.config.embedding_args import EmbeddingArgs
from turnout.config.settings import Market
from turnout.gateway.replicas import EngineLoad
from turnout_deployments.model import application_of
from turnout_deployments.placement import MAX_ONGOING_REQUESTS, ROUTING_STATS_PERIOD_S
from turnout_deployments.pool_replica import PoolReplica

if TYPE_CHECKING:
    from turnout.embeddings.embedder import Embedder


def build(args: dict[str, Any]) -> Application:
    """Builds an embedding model's application; the import path of `config.yaml`."""
    model = EmbeddingArgs.model_validate(args)
    return application_of(EmbeddingReplica, model, args, lambda market: options(model, market))


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


class EmbeddingReplica(PoolReplica):
    """Hosts one embedding model and serves its HTTP API on its own port, as engines do."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self, args: dict[str, Any], market: str
    ) -> None:
        """Loads the model and opens the port; returns when it can answer."""
        from turnout.embeddings.api import embedding_api  # noqa: PLC0415 - only replicas need it
        from turnout.embeddings.batcher import Batcher  # noqa: PLC0415

        model = EmbeddingArgs.model_validate(args)
        embedder = await asyncio.to_thread(_load, model)
        self._batcher = Batcher(embedder, model.batch_size)
        (first,) = embedder.tokens(["The first text takes longest."])
        await self._batcher.vectors([first.ids])
        app = embedding_api(model.model, embedder, self._batcher)
        # A batch that is computed and a full one to follow it; the rest waits in gateways.
        await self._open(app, model, market, 2 * model.batch_size)

    def record_routing_stats(self) -> dict[str, Any]:
        """Tells every handle of this pool how busy the replica is (Serve's own hook)."""
        load = EngineLoad(waiting=self._batcher.waiting, running=self._batcher.running)
        return asdict(load)


def _load(args: EmbeddingArgs) -> Embedder:
    from turnout.embeddings.sentence_model import SentenceModel  # noqa: PLC0415 - imports torch

    return SentenceModel.load(args.source, args.device, args.context_window)
