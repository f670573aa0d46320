"""What the gateway knows of replicas, and which one gets a request. Pure, but for the counts."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Replica:
    """One ready engine; `address` is None where its own port cannot be reached from here."""

    id: str
    model: str
    market: str
    address: str | None
    context_window: int


class ReplicaTable(Protocol):
    """Tells the ready replicas of a model's pools; never blocks and never asks a replica."""

    def replicas(self, model: str) -> Sequence[Replica]:
        """Returns the ready replicas of a model, of every pool; empty when none is ready."""
        ...


class InFlight:
    """Counts the requests this gateway has running on each replica."""

    def __init__(self) -> None:
        self._running: Counter[str] = Counter()

    def begin(self, replica: Replica) -> None:
        """Counts a request sent."""
        self._running[replica.id] += 1

    def end(self, replica: Replica) -> None:
        """Counts a request answered or broken off."""
        self._running[replica.id] -= 1
        if self._running[replica.id] <= 0:
            del self._running[replica.id]

    @property
    def total(self) -> int:
        """Requests running on all replicas."""
        return sum(self._running.values())

    def __getitem__(self, replica_id: str) -> int:
        return self._running[replica_id]


class Counts(Protocol):
    """Anything that tells a replica's running requests."""

    def __getitem__(self, replica_id: str) -> int: ...


def pick(
    replicas: Sequence[Replica],
    in_flight: Counts,
    markets: Sequence[str],
    tried: Collection[str] = (),
) -> Replica | None:
    """Returns the replica with the fewest running requests; equal ones by market preference.

    `tried` are the ids of replicas that already failed this request. None when nothing is left.
    """
    preference = {market: place for place, market in enumerate(markets)}
    left = [r for r in replicas if r.id not in tried and r.market in preference]
    return min(left, key=lambda r: (in_flight[r.id], preference[r.market], r.id), default=None)
