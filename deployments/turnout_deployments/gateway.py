"""The gateway's Serve application: the plain ASGI gateway on Ray's replica table."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ray
from prometheus_client.metrics_core import Metric
from ray import serve
from ray.serve.deployment import Application
from ray.serve.handle import DeploymentHandle

from turnout.batches.desk import Desk
from turnout.config.settings import GatewaySettings
from turnout.gateway.app import Gateway
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.transport import DirectTransport
from turnout.store.engine import state_dir
from turnout_deployments import admin
from turnout_deployments.direct_ingress import answer_directly
from turnout_deployments.governance import Keeper
from turnout_deployments.handle_transport import HandleTransport, PreferDirect
from turnout_deployments.replica_table import HandleTable
from turnout_deployments.serve_listener import guard_serve_listener

if TYPE_CHECKING:
    from turnout.gateway.judge import Judge

NAME = "Gateway"
YOUNG_OBJECTS = 20_000, 20, 50
"""When garbage is looked for: requests leave no cycles, and 64 of them hold 20,000 objects."""


def build(args: dict[str, Any]) -> Application:
    """Builds the gateway's application; settings come as `user_config`, never as `args`."""
    if args:
        raise ValueError(f"the gateway takes no args, got {sorted(args)}: put them in user_config")
    deployment: Any = serve.deployment(
        serve.ingress()(GatewayReplica),
        name=NAME,
        max_ongoing_requests=1000,
        ray_actor_options={"num_cpus": 0.1},
        health_check_period_s=5,
        # The gateway logs its own decisions; Serve's line a request would cost as much again.
        logging_config={"enable_access_log": False},
    )
    application: Application = deployment.bind(admin.bind())
    return application


class GatewayReplica:
    """One gateway process: reads replicas from handles, answers what `Gateway` answers."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self, _admin: DeploymentHandle[Any]
    ) -> None:
        """Takes nothing yet: `reconfigure` brings the settings before the first request.

        The admin API is a deployment of this application because it is bound here.
        """
        guard_serve_listener()
        context = ray.get_runtime_context()
        self._table = HandleTable(context.get_node_id())
        self._table.start()
        self._settings: GatewaySettings | None = None
        self._judge: Judge | None = None
        self._replica_id = serve.get_replica_context().replica_id.unique_id
        self._app_name = serve.get_replica_context().app_name
        self._transport = PreferDirect(DirectTransport(), HandleTransport(self._table.handle))
        self._keeper = Keeper(self._replica_id)
        metrics = GatewayMetrics()
        metrics.registry.register(self._keeper.ledger)
        # Where Serve's proxy or middlewares are in front, they answer with an id.
        self._gateway = Gateway(
            self._table,
            self._transport,
            metrics,
            self._all_metrics,
            sends_request_id=False,
        )
        self._gateway.share_replicas(_gateways)
        self._desk = Desk(self._keeper.store, self._keeper.owner, self._gateway, state_dir())
        metrics.registry.register(self._desk)

    async def __serve_build_asgi_app__(self) -> Gateway:
        """Hands Serve the ASGI app (Serve's hook for apps made after the constructor)."""
        answer_directly(self._gateway)
        return self._gateway

    async def reconfigure(self, user_config: dict[str, Any]) -> None:
        """Takes new settings, also while running; raises pydantic's error where they are wrong."""
        settings = GatewaySettings.model_validate(user_config)
        before = self._settings.router if self._settings else None
        if settings.router and (before is None or before.encoder != settings.router.encoder):
            self._judge = await asyncio.to_thread(_load_judge, settings.router.encoder)
        governance = await self._keeper.governance(settings)
        if self._settings is None:
            gc.collect()
            gc.freeze()  # what is loaded by now stays: no collection need look at it
            gc.set_threshold(*YOUNG_OBJECTS)
        self._settings = settings
        self._transport.configure(settings)
        self._table.configure(settings.models)
        self._gateway.govern(replace(governance, desk=self._desk))
        judge = self._judge
        if judge is None:
            self._gateway.configure(settings, _no_router)
        else:
            self._gateway.configure(settings, judge.difficulty, judge.output_tokens)
        await self._desk.configure(settings)

    async def models(self) -> dict[str, Any]:
        """Returns the models of the settings, for the admin API's account of capacity."""
        models = self._settings.models if self._settings else {}
        return {name: model.model_dump() for name, model in models.items()}

    async def __del__(self) -> None:
        """Leaves nothing unwritten (Serve awaits it when the replica ends)."""
        await self._desk.stop()
        await self._gateway.close()
        await self._keeper.close()

    async def metric_families(self) -> list[Metric]:
        """Returns this replica's own metrics."""
        return self._gateway.families(self._replica_id)

    async def _all_metrics(self) -> Iterable[Iterable[Metric]]:
        """Asks every gateway replica, this one included, for its metrics."""
        peers = serve.get_deployment_handle(NAME, self._app_name)
        return await peers.broadcast("metric_families").results_async()


def _gateways() -> int:
    """Returns how many gateway replicas are wanted (one where Serve scales them by load)."""
    return serve.get_replica_context().world_size or 1


def _load_judge(encoder: str) -> Judge:
    from turnout.gateway.judge import Judge  # noqa: PLC0415 - numpy and the token table
    from turnout_router.router import Router  # noqa: PLC0415

    return Judge(Router.load(encoder))


def _no_router(_text: str) -> float:
    raise LookupError("no router is configured")
