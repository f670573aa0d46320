"""The replicas behind Serve handles: where the gateway reads Ray's private API.

A handle's router keeps the deployment's running replicas, pushed by the Serve controller, with
what each told of itself when it became ready (`record_replica_metadata`) and tells every second
(`record_routing_stats`). Ray has no public call for that list, nor for the nodes being drained.
tests/deployments checks the attributes used here against the pinned version.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from importlib.metadata import version
from operator import is_
from typing import Any, NamedTuple

import ray
from ray import serve
from ray._raylet import GcsClient  # type: ignore[attr-defined]  # compiled
from ray.exceptions import RayError
from ray.serve.handle import DeploymentHandle

from turnout.config.settings import ModelSettings
from turnout.errors import TurnoutError
from turnout.gateway.replicas import EngineLoad, Replica

log = logging.getLogger(__name__)
RAY_VERSION = "2.60.0"
DRAIN_WATCH_PERIOD_S = 0.5
DRAIN_ANSWER_S = 5.0
MOST_SEEN = 4096
"""Replicas remembered, gone ones included, before all are read anew."""
Draining = Callable[[], frozenset[str]]
"""Tells the ids of the nodes being drained."""
_LOAD_FIELDS = {field.name for field in fields(EngineLoad)}


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
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._last: dict[str, _Listing] = {}
        self._draining: frozenset[str] = frozenset()
        self._watch: asyncio.Task[None] | None = None

    def start(self, draining: Draining | None = None) -> None:
        """Begins to watch for nodes being drained, on the running event loop."""
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_drains(draining or draining_nodes()))

    def configure(self, models: Mapping[str, ModelSettings]) -> None:
        """Takes the models whose pools are looked up from now on."""
        self._models = models
        self._seen.clear()
        self._last.clear()
        for name, model in models.items():
            for market in model.pools:
                self.handle(name, market)

    def replicas(self, model: str) -> Sequence[Replica]:
        """Returns the ready replicas of a model; none of one not deployed yet or taken out."""
        return self._listing(model).ready

    def known(self, model: str) -> Sequence[Replica]:
        """Returns the ready replicas of a model and those that drain with their nodes."""
        return self._listing(model).known

    def _listing(self, model: str) -> _Listing:
        """Returns the same object until something changes: this runs for every request."""
        settings = self._models.get(model)
        markets = settings.pools if settings else ()
        pools = [running(self.handle(model, market)) for market in markets]
        last = self._last.get(model)
        if (
            last is not None
            and last.draining is self._draining
            and all(map(is_, last.pools, pools))
        ):
            return last
        known = [
            self._replica(model, market, getattr(each, "_replica_info", each))
            for market, pool in zip(markets, pools, strict=True)
            for each in pool
        ]
        ready = [replica for replica in known if not replica.is_draining]
        listing = self._last[model] = _Listing(pools, self._draining, known, ready)
        return listing

    async def _watch_drains(self, draining: Draining) -> None:
        while True:
            try:
                found = await asyncio.to_thread(draining)
                if found != self._draining:
                    self._draining = found
            except RayError as error:  # the head node is away: keep what is known
                log.warning("drains_unknown", extra={"error": type(error).__name__})
            await asyncio.sleep(DRAIN_WATCH_PERIOD_S)

    def handle(self, model: str, market: str) -> DeploymentHandle[Any]:
        """Returns the pool's handle, opened at the first call; its application may come later."""
        application = self._models[model].application
        assert application is not None  # an upstream's model has no pools
        key = (application, market)
        if key not in self._handles:
            # Asking whether it exists would block the event loop and fail before it is deployed.
            handle = serve.get_deployment_handle(market, key[0], _check_exists=False)
            handle._init()  # type: ignore[no-untyped-call]
            self._handles[key] = handle
        return self._handles[key]

    def _replica(self, model: str, market: str, info: Any) -> Replica:
        """Returns the same object until something about the replica changes."""
        is_draining = info.node_id in self._draining
        key = model, info.actor_name
        seen = self._seen.get(key)
        if seen is None or seen.info is not info or seen.replica.is_draining != is_draining:
            seen = _Seen(info, self._read(model, market, info, is_draining))
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            self._seen[key] = seen
        return seen.replica

    def _read(self, model: str, market: str, info: Any, is_draining: bool) -> Replica:
        told = info.replica_metadata
        address = told.get("address")
        if address and "//127.0.0.1:" in address and info.node_id != self._node_id:
            address = None  # listens for its own node only: reach it through the handle
        return Replica(
            info.replica_id.to_full_id_str(),
            model,
            market,
            address,
            told.get("context_window", 0),
            is_draining,
            load_of(info.routing_stats),
            told.get("key"),
            told.get("max_running"),
        )


class _Seen(NamedTuple):
    info: Any
    replica: Replica


class _Listing(NamedTuple):
    """A model's replicas, with what they were read from."""

    pools: Sequence[Sequence[Any]]
    draining: frozenset[str]
    known: Sequence[Replica]
    ready: Sequence[Replica]


def load_of(stats: Mapping[str, Any]) -> EngineLoad | None:
    """Returns what `record_routing_stats` told; None before the first time."""
    return EngineLoad(**stats) if stats.keys() == _LOAD_FIELDS else None


def draining_nodes() -> Draining:
    """Returns a call that asks the head node; it blocks for a round trip, or raises `RayError`."""
    client = GcsClient(address=ray.get_runtime_context().gcs_address)
    return lambda: frozenset(client.get_draining_nodes(timeout=DRAIN_ANSWER_S))


def running(handle: DeploymentHandle[Any]) -> Sequence[Any]:
    """Returns Ray's ready replicas behind an initialized handle: another list when they change.

    They are `RunningReplicaInfo`, or wrap one as `_replica_info`.
    """
    router: Any = handle._router
    router = router._asyncio_router
    replicas: Sequence[Any] | None
    if router._request_router is not None:
        replicas = router._request_router._replicas_list
    else:
        replicas = router._running_replicas
    return () if replicas is None else replicas
