"""What all requests of one gateway share on their way to replicas."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from turnout.gateway.balancer import Balancer
from turnout.gateway.hedge import Hedges
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.replicas import ReplicaTable
from turnout.gateway.retry import RetryBudget
from turnout.gateway.sse import Usage
from turnout.gateway.transport import Transport


@dataclass
class Fleet:
    """The replicas, how they are reached and chosen, and the budgets of extra requests."""

    table: ReplicaTable
    transport: Transport
    metrics: GatewayMetrics
    balancer: Balancer = field(default_factory=Balancer)
    retries: RetryBudget = field(default_factory=RetryBudget)
    hedges: defaultdict[str, Hedges] = field(default_factory=lambda: defaultdict(Hedges))
    """By model."""
    chance: Callable[[], float] = random.random
    """Numbers from 0 to 1, for pauses of unequal length."""

    @staticmethod
    def now_s() -> float:
        """Returns the event loop's clock."""
        return asyncio.get_running_loop().time()

    def count(self, model: str, used: Usage | None) -> None:
        """Counts an answer's tokens."""
        if used is not None:
            self.metrics.tokens(model, "prompt").inc(used.prompt_tokens)
            self.metrics.tokens(model, "completion").inc(used.completion_tokens)
