"""Finds replicas for one request: the next one after a failure, or one to wait for."""

import asyncio
import logging

from turnout.gateway.attempt import EngineFailed
from turnout.gateway.balance.job import Job
from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import NoReadyReplica, ReplicaLost, RequestError
from turnout.gateway.fleet import Fleet
from turnout.gateway.heartbeats import Heartbeats
from turnout.gateway.replicas import Replica
from turnout.gateway.retry import delay_s
from turnout.gateway.transport import AnswerBroken, ReplicaUnreachable

log = logging.getLogger(__name__)
Lost = ReplicaUnreachable | AnswerBroken | EngineFailed
LOST = (ReplicaUnreachable, AnswerBroken, EngineFailed)
LEFT_OUT_S = 1.0
"""How long a replica is left out after it failed a request; it may be back then."""
LOOK_S = 0.05


class Search:
    """The replicas of one model for one request."""

    def __init__(
        self,
        fleet: Fleet,
        job: Job,
        model: str,
        catalog: Catalog,
        wait_s: float,
        heartbeats: Heartbeats | None = None,
    ) -> None:
        """`wait_s` is how long it waits for a replica where there is none."""
        self._fleet, self._job = fleet, job
        self._model, self._settings = model, catalog.settings
        self._pools = catalog.model(model).pools
        self._wait_s, self._heartbeats = wait_s, heartbeats
        self.is_resuming = False
        """Whether the client has a part of the answer: what is left to do is worth more then."""
        self._given: dict[str, Replica] = {}
        self._failed_s: dict[str, float] = {}
        self._failures = 0
        self._last: Lost | None = None

    async def next(self) -> Replica:
        """Returns the replica to send to, after a pause where one has failed.

        Raises what the client is told when there is none, or it was tried often enough.
        """
        if self._failures:
            await self._pause()
        replica = self.another() or await self._wait()
        self._given[replica.id] = replica
        if self._failures:
            self._fleet.metrics.retries(self._model).inc()
        return replica

    def another(self, *more: str) -> Replica | None:
        """Returns a ready replica that has not just failed and is none of `more`."""
        since = self._fleet.now_s() - LEFT_OUT_S
        left_out = {name for name, at in self._failed_s.items() if at > since}
        replicas = self._fleet.table.replicas(self._model)
        found = self._fleet.balancer.choose(
            self._job, replicas, self._pools, left_out.union(more) if more else left_out
        )
        if found is not None:
            self._given[found.id] = found
        return found

    def failed(self, error: Lost) -> None:
        """Takes in that a replica failed the request."""
        replica = self._given[error.replica_id]
        self._fleet.balancer.failed(replica, "error" if isinstance(error, EngineFailed) else "dead")
        self._fleet.metrics.replica_failures(replica.model, replica.market).inc()
        log.warning(_EVENTS[type(error)], extra={"replica": replica.id, "why": error.problem})
        self._failed_s[replica.id] = self._fleet.now_s()
        self._failures += 1
        self._last = error

    def went_on(self) -> None:
        """Takes in that the answer has come further: earlier failures are made good."""
        self._failures = 0

    async def _pause(self) -> None:
        failover = self._settings.failover
        if self._failures >= failover.max_attempts:
            raise self.told()
        if not self.is_resuming:
            share, floor = failover.retry_share, failover.retries_per_s
            if not self._fleet.retries.take(self._fleet.now_s(), share, floor):
                log.warning("retry_budget_spent", extra={"model": self._model})
                raise self.told()
        await asyncio.sleep(delay_s(self._failures, self._fleet.chance()))

    async def _wait(self) -> Replica:
        started = self._fleet.now_s()
        if self._heartbeats is not None:
            self._heartbeats.start(started)
        while (now := self._fleet.now_s()) < started + self._wait_s:
            if self._heartbeats is not None:
                await self._heartbeats.beat(now)
            await asyncio.sleep(LOOK_S)
            if (replica := self.another()) is not None:
                return replica
        raise self.told()

    def told(self) -> RequestError:
        """Returns what the client is told: by how the last replica failed."""
        last, model = self._last, self._model
        if self.is_resuming or isinstance(last, AnswerBroken):
            return ReplicaLost(f"the replica of '{model}' was lost while it answered", 1)
        if isinstance(last, EngineFailed):
            return last.told
        problem = f"no replica of '{model}' is ready"
        if last is not None:
            problem = f"no replica of '{model}' could be reached in {self._failures} attempts"
        return NoReadyReplica(problem, self._settings.limits.retry_after_s)


_EVENTS = {
    ReplicaUnreachable: "replica_unreachable",
    AnswerBroken: "answer_broken",
    EngineFailed: "engine_failed",
}
