"""What the rounds come to: a system's figures under each load. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnout_load.bench.gateway.driver import Run
from turnout_load.bench.gateway.rounds import Pair
from turnout_load.stats.percentiles import quantile

SUMMARY = {
    "c1": ("added_p50_ms", "added_p99_ms"),
    "c64": ("rps", "cpu_s_per_1000", "rss_mb"),
    "stream_c256": ("tokens_per_s",),
}
"""What the short JSON holds, by load."""


@dataclass(frozen=True)
class Figures:
    """A system under a load; medians over the rounds."""

    added_p50_ms: float | None
    """The median through the system less the median straight to the mock, in the same round."""
    added_p99_ms: float | None
    rps: float
    tokens_per_s: float
    cpu_s_per_1000: float | None
    """CPU seconds of all of the system's processes for 1,000 requests, of all rounds together."""
    rss_mb: float
    """The most of any round."""
    failed: int


def figures(pairs: Sequence[Pair]) -> Figures:
    """Returns the figures of a load's rounds; latencies are None where nothing was answered."""
    runs = [pair.through for pair in pairs]
    answered = sum(run.answered for run in runs)
    cpu_s = sum(sum(pair.cpu_s.values()) for pair in pairs)
    return Figures(
        added_p50_ms=added_ms(pairs, 0.50),
        added_p99_ms=added_ms(pairs, 0.99),
        rps=statistics.median(run.rps for run in runs),
        tokens_per_s=statistics.median(run.tokens_per_s for run in runs),
        cpu_s_per_1000=cpu_s / answered * 1000 if answered else None,
        rss_mb=max(sum(pair.rss_mb.values()) for pair in pairs),
        failed=sum(len(run.failures) for run in runs),
    )


def added_ms(pairs: Sequence[Pair], share: float) -> float | None:
    """Returns the median over the rounds of what the system adds to a quantile, 0 ≤ share ≤ 1."""
    added = [
        _quantile_ms(pair.through, share) - _quantile_ms(pair.direct, share)
        for pair in pairs
        if pair.through.e2e_ms and pair.direct.e2e_ms
    ]
    return statistics.median(added) if added else None


def _quantile_ms(run: Run, share: float) -> float:
    return quantile(sorted(run.e2e_ms), share)


def summary(systems: Mapping[str, Mapping[str, Figures]]) -> dict[str, Any]:
    """Returns the short JSON: each system's few figures that goals are set for."""
    return {
        "systems": {
            name: {
                load: {field: getattr(by_load[load], field) for field in fields}
                for load, fields in SUMMARY.items()
                if load in by_load
            }
            for name, by_load in systems.items()
        }
    }
