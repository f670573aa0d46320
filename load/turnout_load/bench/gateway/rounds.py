"""Rounds of a system beside the way past it: each load first straight to the mock, then through."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from turnout_load.bench.gateway.direct import endpoint_of
from turnout_load.bench.gateway.driver import Load, Run, drive
from turnout_load.bench.gateway.processes import rss_mb, snapshot, spent_s, unbound
from turnout_load.bench.gateway.system import Endpoint, Stage, System, SystemFailed

WARM_UP = (Load("", 16), Load("", 16, stream=True))
WARM_UP_S = 1.5


@dataclass(frozen=True)
class Pair:
    """One load of one round, both ways."""

    direct: Run
    through: Run
    cpu_s: Mapping[str, float]
    """What the system's processes used meanwhile, by name."""
    rss_mb: Mapping[str, float]
    """Their resident memory afterwards, by name."""


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    loads: Sequence[Load]
    rounds: int
    seconds: float
    seed: int


def measured(system: System, stage: Stage, plan: Plan) -> dict[str, list[Pair]]:
    """Starts a system, measures it round by round and ends it; returns its pairs by load."""
    pairs: dict[str, list[Pair]] = {load.name: [] for load in plan.loads}
    begun = time.monotonic()
    with system.started(stage) as endpoint:
        if strays := unbound(stage.mark, stage.cpu):
            raise SystemFailed(system.name, f"not bound to one core: {', '.join(strays)}", "")
        sys.stderr.write(f"{system.name}: answers after {time.monotonic() - begun:.0f} s\n")
        for load in WARM_UP:
            drive(endpoint, load, WARM_UP_S, plan.seed)
        for load, pair in _rounds(endpoint, stage, plan):
            pairs[load.name].append(pair)
    return pairs


def _rounds(endpoint: Endpoint, stage: Stage, plan: Plan) -> Iterator[tuple[Load, Pair]]:
    direct = endpoint_of(stage.mock)
    for number in range(plan.rounds):
        for load in plan.loads:
            seed = plan.seed + number
            straight = drive(direct, load, plan.seconds, seed)
            before = snapshot(stage.mark)
            through = drive(endpoint, load, plan.seconds, seed)
            after = snapshot(stage.mark)
            yield load, Pair(straight, through, spent_s(before, after), rss_mb(after))
