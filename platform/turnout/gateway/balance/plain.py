"""The usual policies, for comparison: the fewest requests of all, and of two drawn at random."""

from collections.abc import Sequence
from random import Random

from turnout.gateway.balance.choose import (
    DEFAULT_WEIGHTS,
    NO_AFFINITY,
    Affinity,
    Choice,
)
from turnout.gateway.balance.job import Job
from turnout.gateway.balance.state import ReplicaState
from turnout.gateway.balance.weights import Weights


def least_requests(
    job: Job,
    states: Sequence[ReplicaState],
    pools: Sequence[str],
    affinity: Affinity = NO_AFFINITY,
    weights: Weights = DEFAULT_WEIGHTS,
) -> Choice:
    """Returns the replica with the fewest requests; equal ones by pool order and id."""
    places = {market: place for place, market in enumerate(pools)}

    def rank(state: ReplicaState) -> tuple[int, int, str]:
        market = state.replica.market
        return state.load, places.get(market, len(places)), state.replica.id

    best = min(states, key=rank)
    return Choice(best.replica, f"{best.load} requests")


class PowerOfTwo:
    """Of two replicas drawn at random, the one with fewer requests.

    Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing" (2001); Ray Serve's and
    many routers' default.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._random = Random(seed)

    def __call__(
        self,
        job: Job,
        states: Sequence[ReplicaState],
        pools: Sequence[str],
        affinity: Affinity = NO_AFFINITY,
        weights: Weights = DEFAULT_WEIGHTS,
    ) -> Choice:
        """Returns the less busy one of two."""
        drawn = self._random.sample(states, min(2, len(states)))
        best = min(drawn, key=lambda state: state.load)
        return Choice(best.replica, f"{best.load} requests, of two drawn")
