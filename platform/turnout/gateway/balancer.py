"""Which replica gets a request, on what this gateway knows of all of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from turnout.gateway.replicas import InFlight, Replica, pick


@dataclass(frozen=True)
class Job:
    """What of a request matters for where it runs."""

    prompt: str = ""
    """Its text, for replicas that have the same beginning cached."""
    session: str = ""
    """`x-session-id`: requests of one session stay together where they can."""
    prompt_tokens: int = 0
    output_tokens: int = 0
    is_resumable: bool = True
    """Whether an answer that broke off can go on elsewhere."""


class Balancer:
    """Chooses replicas and keeps count of what runs on them, what they answered, what failed."""

    def __init__(self) -> None:
        self._running = InFlight()

    def choose(
        self,
        job: Job,
        replicas: Sequence[Replica],
        pools: Sequence[str],
        tried: Collection[str] = (),
    ) -> Replica | None:
        """Returns the replica for a job, none of `tried`; None when nothing is left."""
        return pick(replicas, self._running, pools, tried)

    def begin(self, replica: Replica, job: Job) -> None:
        """Counts a request sent."""
        self._running.begin(replica)

    def end(self, replica: Replica, job: Job) -> None:
        """Counts a request answered or broken off."""
        self._running.end(replica)

    def answered(self, replica: Replica, ttft_s: float) -> None:
        """Learns that a replica began to answer, and how soon."""

    def failed(self, replica: Replica) -> None:
        """Learns that a replica could not be reached or broke off."""

    @property
    def running(self) -> int:
        """Requests running on all replicas."""
        return self._running.total
