"""The ready replicas behind Serve handles: where the gateway reads Ray's private API.

A handle's router keeps the deployment's running replicas, pushed by the Serve controller, with
what each told of itself when it became ready (`record_replica_metadata`). Ray has no public call
for that list. tests/deployments checks the attributes used here against the pinned version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from ray import serve
from ray.serve.handle import DeploymentHandle

from turnout.config.settings import ModelSettings
from turnout.errors import TurnoutError
from turnout.gateway.replicas import Replica

RAY_VERSION = "2.60.0"


class UnknownRayVersion(TurnoutError):
    """Another Ray than the one whose private attributes this module knows."""

    def __init__(self, found: str, known: str) -> None:
        super().__init__(found, known)
        self.found, self.known = found, known

    def __str__(self) -> str:
        return (
            f"Ray {self.found} is installed, the replica table knows {self.known}: install the "
            "locked version (make setup)"
        )


def check_ray_version() -> None:
    """Raises `UnknownRayVersion` unless the installed Ray is the one this module knows."""
    if (found := version("ray")) != RAY_VERSION:
        raise UnknownRayVersion(found, RAY_VERSION)


class HandleTable:
    """The replica table over one Serve handle per pool, opened as applications appear."""

    def __init__(self, node_id: str) -> None:
        check_ray_version()
        self._node_id = node_id
        self._models: Mapping[str, ModelSettings] = {}
        self._handles: dict[tuple[str, str], DeploymentHandle[Any]] = {}

    def configure(self, models: Mapping[str, ModelSettings]) -> None:
        """Takes the models whose pools are looked up from now on."""
        self._models = models
        for name, model in models.items():
            for market in model.pools:
                self.handle(name, market)

    def replicas(self, model: str) -> Sequence[Replica]:
        """Returns the ready replicas of a model; none of one not deployed yet or taken out."""
        settings = self._models.get(model)
        return [
            self._replica(model, market, info)
            for market in (settings.pools if settings else ())
            for info in running(self.handle(model, market))
        ]

    def handle(self, model: str, market: str) -> DeploymentHandle[Any]:
        """Returns the pool's handle, opened at the first call; its application may come later."""
        key = (self._models[model].application, market)
        if key not in self._handles:
            # Asking whether it exists would block the event loop and fail before it is deployed.
            handle = serve.get_deployment_handle(market, key[0], _check_exists=False)
            handle._init()  # type: ignore[no-untyped-call]
            self._handles[key] = handle
        return self._handles[key]

    def _replica(self, model: str, market: str, info: Any) -> Replica:
        told = info.replica_metadata
        address = told.get("address")
        if address and "//127.0.0.1:" in address and info.node_id != self._node_id:
            address = None  # listens for its own node only: reach it through the handle
        replica_id = info.replica_id.to_full_id_str()
        return Replica(replica_id, model, market, address, told.get("context_window", 0))


def running(handle: DeploymentHandle[Any]) -> list[Any]:
    """Returns Ray's `RunningReplicaInfo` of every ready replica behind an initialized handle."""
    router: Any = handle._router
    router = router._asyncio_router
    if router._request_router is not None:
        return [
            replica._replica_info for replica in list(router._request_router._replicas.values())
        ]
    return list(router._running_replicas or ())
