"""Drives one endpoint with users that wait for their answers: the load tool's own client."""

from __future__ import annotations

import time
from dataclasses import dataclass

import uvloop

from turnout_load.bench.gateway.system import Endpoint
from turnout_load.mock.settings import MockSettings
from turnout_load.records import Records
from turnout_load.run.worker import Worker
from turnout_load.spec import Spec, Target, Workload

CHUNKS = 32
"""Tokens of every answer; the mock sends each in a chunk of its own."""
PROMPT_TOKENS = 64
ENGINE = MockSettings(ttft_ms=20, itl_ms=5, whole_ms=20, tokens=CHUNKS, exact_up_to=8)
"""The mock that every system has behind it."""
SETTLE_S = 0.3
"""Requests begun before it open the connections, and are in no latency."""
LEAD_S = 0.02


@dataclass(frozen=True)
class Load:
    """How much is asked for at once."""

    name: str
    users: int
    stream: bool = False


LOADS = (
    *(Load(f"c{users}", users) for users in (1, 4, 16, 64, 256)),
    Load("stream_c256", 256, stream=True),
)


@dataclass(frozen=True)
class Run:
    """What a client saw of an endpoint under a load."""

    e2e_ms: tuple[float, ...]
    answered: int
    chunks: int
    elapsed_s: float
    """From the start to the last answer's end."""
    failures: tuple[str, ...] = ()

    @property
    def rps(self) -> float:
        """Requests answered a second."""
        return self.answered / self.elapsed_s

    @property
    def tokens_per_s(self) -> float:
        """Chunks received a second."""
        return self.chunks / self.elapsed_s


def drive(
    endpoint: Endpoint, load: Load, seconds: float, seed: int, rate: float | None = None
) -> Run:
    """Asks for `seconds`, waits for what is under way, and returns what came of it.

    The load's users wait for their answers; with a `rate`, that many requests come a second.
    """
    key_file = None if endpoint.key_file is None else str(endpoint.key_file)
    spec = Spec(
        target=Target(
            url=endpoint.url,
            model=endpoint.model,
            stream=load.stream,
            api_key_env="",
            api_key_file=key_file,
        ),
        workload=Workload(
            arrivals="closed" if rate is None else "poisson",
            rate=rate or 1.0,
            users=load.users,
            input_tokens=f"fixed:{PROMPT_TOKENS}",
            output_tokens=f"fixed:{CHUNKS}",
        ),
        duration_s=seconds,
        seed=seed,
    )
    worker = Worker(spec, 0, 1)
    outcome = uvloop.run(worker.run(time.time_ns() + round(LEAD_S * 1e9)))
    return run_of(outcome.records)


def run_of(records: Records) -> Run:
    """Sums a run's records up. Pure."""
    answered = [record for record in records if record.ok]
    settled = [record for record in answered if record.intended_ns >= SETTLE_S * 1e9]
    return Run(
        tuple((record.end_ns - record.intended_ns) / 1e6 for record in settled),
        len(answered),
        sum(record.chunks for record in answered),
        max((record.end_ns for record in records), default=0) / 1e9,
        tuple(f"{record.error}: {record.detail}" for record in records if not record.ok),
    )
