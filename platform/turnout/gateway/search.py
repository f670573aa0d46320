"""Finds replicas for one request: the next one after a failure, or one to wait for."""

import asyncio
import logging
import math
from collections.abc import Mapping

from turnout.config.upstream_settings import UPSTREAM
from turnout.gateway.attempt import EngineFailed
from turnout.gateway.balance.breaker import Failure
from turnout.gateway.balance.job import Job
from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import NoReadyReplica, QueueFull, ReplicaLost, RequestError
from turnout.gateway.fleet import Fleet
from turnout.gateway.heartbeats import Heartbeats
from turnout.gateway.replicas import Replica
from turnout.gateway.retry import delay_s
from turnout.gateway.transport import AnswerBroken, ReplicaBusy, ReplicaUnreachable

log = logging.getLogger(__name__)
Lost = ReplicaUnreachable | ReplicaBusy | AnswerBroken | EngineFailed
LOST = (ReplicaUnreachable, ReplicaBusy, AnswerBroken, EngineFailed)
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
        """`wait_s` is how long it waits, over all attempts, for a replica where there is none."""
        self._fleet, self._job = fleet, job
        self._model, self._settings = model, catalog.settings
        self._markets = catalog.model(model).markets
        self._wait_s, self._heartbeats = wait_s, heartbeats
        self.is_resuming = False
        """Whether the client has a part of the answer: what is left to do is worth more then."""
        self._given: dict[str, Replica] = {}
        self._left_out_until_s: dict[str, float] = {}
        self._failures = 0
        self._patient_until_s: float | None = None
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
        now_s = self._fleet.now_s()
        left_out = {name for name, until in self._left_out_until_s.items() if until > now_s}
        replicas = self._fleet.table.replicas(self._model)
        found = self._fleet.balancer.choose(
            self._job, replicas, self._markets, left_out.union(more) if more else left_out
        )
        if found is not None:
            self._given[found.id] = found
        return found

    def failed(self, error: Lost) -> None:
        """Takes in that a replica failed the request."""
        replica = self._given[error.replica_id]
        told_s = error.retry_after_s if isinstance(error, ReplicaBusy) else None
        if not (isinstance(error, ReplicaBusy) and error.is_own_rate):
            self._fleet.balancer.failed(replica, _FAILURES[type(error)], told_s)
            self._fleet.metrics.replica_failures(replica.model, replica.market).inc()
        log.warning(_EVENTS[type(error)], extra={"replica": replica.id, "why": error.problem})
        out_s = LEFT_OUT_S if told_s is None else told_s
        self._left_out_until_s[replica.id] = self._fleet.now_s() + out_s
        self._failures += 1
        self._last = error

    def went_on(self) -> None:
        """Takes in that the answer has come further: earlier failures are made good."""
        self._failures = 0
        self._patient_until_s = None

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
        if self._patient_until_s is None:
            self._patient_until_s = started + self._wait_s
        if started + self._back_in_s(started) > self._patient_until_s:
            raise self.told()
        if self._heartbeats is not None:
            self._heartbeats.start(started)
        while (now := self._fleet.now_s()) < self._patient_until_s:
            if self._heartbeats is not None:
                await self._heartbeats.beat(now)
            await asyncio.sleep(LOOK_S)
            if (replica := self.another()) is not None:
                return replica
        raise self.told()

    def _back_in_s(self, now_s: float) -> float:
        """Returns how long an upstream is out for certain; 0 of replicas, others may come."""
        replicas = self._fleet.table.replicas(self._model)
        if self._markets != (UPSTREAM,) or not replicas:
            return 0.0
        left_out_s = max(self._left_out_until_s.values(), default=now_s) - now_s
        return max(left_out_s, self._fleet.balancer.opens_in_s(replicas))

    def told(self) -> RequestError:
        """Returns what the client is told: by how the last replica failed."""
        last, model = self._last, self._model
        if self.is_resuming or isinstance(last, AnswerBroken):
            return ReplicaLost(f"the replica of '{model}' was lost while it answered", 1)
        if isinstance(last, EngineFailed):
            return last.told
        retry_s = self._settings.limits.retry_after_s
        if (back_s := self._back_in_s(self._fleet.now_s())) > 0:
            retry_s = math.ceil(back_s)
        if isinstance(last, ReplicaBusy):
            return QueueFull(f"the upstream of '{model}' takes no more requests now", retry_s)
        problem = f"no replica of '{model}' is ready"
        if last is not None:
            problem = f"no replica of '{model}' could be reached in {self._failures} attempts"
        elif back_s > 0:
            problem = f"the upstream of '{model}' is out of service"
        return NoReadyReplica(problem, retry_s)


_FAILURES: Mapping[type[Lost], Failure] = {
    ReplicaUnreachable: "dead",
    ReplicaBusy: "busy",
    AnswerBroken: "dead",
    EngineFailed: "error",
}
_EVENTS = {
    ReplicaUnreachable: "replica_unreachable",
    ReplicaBusy: "replica_busy",
    AnswerBroken: "answer_broken",
    EngineFailed: "engine_failed",
}
