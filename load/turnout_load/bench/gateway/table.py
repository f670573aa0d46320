"""The outcome's table and details. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnout_load.bench.gateway.driver import Run
from turnout_load.bench.gateway.figures import Figures
from turnout_load.bench.gateway.rounds import Pair
from turnout_load.bench.outcome import Cell
from turnout_load.stats.percentiles import quantile

COLUMNS = [
    "system",
    "users",
    "added p50, ms",
    "added p99, ms",
    "requests/s",
    "streamed tokens/s",
    "CPU-s per 1,000 requests",
    "RSS, MB",
    "failed",
]


def rows(systems: Mapping[str, Mapping[str, Figures]]) -> list[list[Cell]]:
    """Returns a row for each system and load."""
    return [
        [
            name,
            load.removeprefix("stream_").removeprefix("c")
            + (", streamed" if load.startswith("stream_") else ""),
            found.added_p50_ms,
            found.added_p99_ms,
            found.rps,
            found.tokens_per_s if load.startswith("stream_") else None,
            found.cpu_s_per_1000,
            found.rss_mb,
            found.failed,
        ]
        for name, by_load in systems.items()
        for load, found in by_load.items()
    ]


def details(systems: Mapping[str, Mapping[str, Sequence[Pair]]]) -> dict[str, Any]:
    """Returns every round's own figures."""
    return {
        name: {load: [_round(pair) for pair in pairs] for load, pairs in by_load.items()}
        for name, by_load in systems.items()
    }


def _round(pair: Pair) -> dict[str, Any]:
    return {
        "direct": _run(pair.direct),
        "through": _run(pair.through),
        "cpu_s": {name: round(spent, 3) for name, spent in pair.cpu_s.items() if spent >= 0.005},
        "rss_mb": {name: round(resident, 1) for name, resident in pair.rss_mb.items()},
    }


def _run(run: Run) -> dict[str, Any]:
    ordered = sorted(run.e2e_ms)
    quantiles = {"p50_ms": 0.50, "p99_ms": 0.99} if ordered else {}
    return {
        **{name: round(quantile(ordered, share), 3) for name, share in quantiles.items()},
        "rps": round(run.rps, 1),
        "tokens_per_s": round(run.tokens_per_s, 1),
        "failures": sorted(set(run.failures))[:3],
    }
