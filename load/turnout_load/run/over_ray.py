"""A run over the nodes of a Ray cluster, where one machine cannot send enough.

Needs `ray`, and this package installed on the nodes; files are read there, by the same paths. All
workers start at one moment of the wall clock: nodes' clocks must agree (NTP does).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import Any

from turnout_load.errors import BadOption, LoadError, WorkerLost
from turnout_load.live import Snapshot, merge
from turnout_load.metrics.usage import Lengths
from turnout_load.run.worker import Outcome, Worker
from turnout_load.spec import Spec, Target

TELL_S = 0.5
LEAD_S = 0.5


class RayWorker:
    """A worker as an async actor; what cannot be used is returned, not raised, as it is."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    async def prepare(self, spec: Spec, index: int) -> tuple[str, ...] | LoadError:
        """Returns the worker's notes, or why it cannot run."""
        try:
            self._worker = Worker(spec, index, spec.processes)
        except LoadError as refused:
            return refused
        return self._worker.notes

    async def run(self, start_wall_ns: int) -> Outcome:
        """Runs the share; `prepare` came first."""
        assert self._worker is not None
        return await self._worker.run(start_wall_ns)

    async def snapshot(self) -> Snapshot | None:
        """Returns how it goes."""
        return self._worker.snapshot() if self._worker else None

    async def count(self) -> Lengths | LoadError:
        """Counts the sample's tokens, or says why it cannot."""
        return self._worker.count() if self._worker else Lengths()

    async def stop(self) -> None:
        """Ends the run early."""
        if self._worker:
            self._worker.stop()


def run_over_ray(spec: Spec, tell: Callable[[Snapshot], None]) -> tuple[list[Outcome], list[str]]:
    """Runs a spec on `spec.processes` actors spread over a cluster's nodes.

    Ctrl-C stops the run and returns what was measured. Raises `LoadError` where the spec cannot be
    used, the cluster cannot be reached, or an actor dies.
    """
    try:
        import ray  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise BadOption("--ray", str(spec.ray), "Ray beside this tool: pip install ray") from None
    _reach(str(spec.ray))
    try:
        ray.init(
            address=spec.ray,
            log_to_driver=False,
            configure_logging=False,
            runtime_env={"env_vars": _key(spec.target)},
        )
        _check_cpus(ray, spec.processes)
        actor = ray.remote(RayWorker).options(num_cpus=1, scheduling_strategy="SPREAD")
        return _run(ray, [actor.remote() for _ in range(spec.processes)], spec, tell)
    except ConnectionError as problem:
        raise BadOption("--ray", str(spec.ray), f"a running cluster's address: {problem}") from None
    except ray.exceptions.RayError as problem:
        raise WorkerLost from problem
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Raises `BadOption` at once where nothing listens: Ray itself would try for minutes."""
    host, is_port, port = address.rpartition(":")
    if not is_port or "/" in host:
        return  # `auto`, `local` or a Ray client's address
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError) as problem:
        raise BadOption("--ray", address, f"a running cluster's address: {problem}") from None


def _check_cpus(ray: Any, processes: int) -> None:
    cpus = int(ray.cluster_resources().get("CPU", 0))
    if processes > cpus:
        raise BadOption("--processes", str(processes), f"at most the cluster's {cpus} CPUs")


def _key(target: Target) -> dict[str, str]:
    """Returns the variable that holds the key, for the nodes' processes."""
    key = os.environ.get(target.api_key_env)
    return {target.api_key_env: key} if key else {}


def _run(
    ray: Any, workers: list[Any], spec: Spec, tell: Callable[[Snapshot], None]
) -> tuple[list[Outcome], list[str]]:
    notes: list[str] = []
    prepared = [worker.prepare.remote(spec, index) for index, worker in enumerate(workers)]
    for answer in ray.get(prepared):
        if isinstance(answer, LoadError):
            raise answer
        notes += [note for note in answer if note not in notes]
    start_wall_ns = time.time_ns() + round(LEAD_S * 1e9)
    running = [worker.run.remote(start_wall_ns) for worker in workers]
    while True:
        try:
            _, under_way = ray.wait(running, num_returns=len(running), timeout=TELL_S)
            if not under_way:
                outcomes = ray.get(running)
                counted = ray.get([worker.count.remote() for worker in workers])
                return list(map(Outcome.counted, outcomes, counted)), notes
            snapshots = ray.get([worker.snapshot.remote() for worker in workers])
            if all(snapshots):
                tell(merge(snapshots))
        except KeyboardInterrupt:
            for worker in workers:
                worker.stop.remote()
