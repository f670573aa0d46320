"""What happened to one request on its way to an answer: filled by the relay, read by accounting."""

import time
from dataclasses import dataclass, field

from turnout.gateway.sse import Usage


@dataclass
class Meter:
    """Tokens, times and places of one request, over all replicas that worked on it."""

    arrived_at_s: float = field(default_factory=time.time)
    usage: Usage = field(default_factory=lambda: Usage(0, 0))
    """What is charged: tokens of the answer the client got, each once."""
    market: str = "none"
    replica_id: str = ""
    attempts: int = 0
    sent_ns: int | None = None
    """When it was first sent to a replica (perf_counter_ns)."""
    first_ns: int | None = None
    last_ns: int | None = None

    def sent(self, replica_id: str, market: str) -> None:
        """Notes that the request goes to a replica."""
        self.attempts += 1
        self.replica_id, self.market = replica_id, market
        if self.sent_ns is None:
            self.sent_ns = time.perf_counter_ns()

    def got(self) -> None:
        """Notes that a piece of the answer came."""
        self.last_ns = time.perf_counter_ns()
        if self.first_ns is None:
            self.first_ns = self.last_ns
