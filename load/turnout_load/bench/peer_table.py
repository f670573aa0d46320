"""The comparison's table, of what each tool said and what the mock did. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from turnout_load.bench.outcome import Cell
from turnout_load.bench.peer import Figures

METRICS = {
    "ttft_ms": "TTFT",
    "itl_ms": "gap between chunks",
    "request_itl_ms": "mean ITL of a request",
}
SHARES = ("p50", "p99")
COLUMNS = [
    "tool, load",
    *(f"{name} {share}, error in ms" for name in METRICS.values() for share in SHARES),
    "short requests/s",
]

Compared = Mapping[str, Mapping[str, Mapping[str, float]]]


def errors_ms(figures: Figures, told: Mapping[str, Any]) -> Compared:
    """Returns, by metric and percentile, what the tool says, what was true, and the difference."""
    return {
        metric: {
            share: {
                "told": round(said[share], 3),
                "truth": round(told[metric][share], 3),
                "error": round(said[share] - told[metric][share], 3) + 0.0,  # never -0
            }
            for share in SHARES
        }
        for metric, said in figures.items()
    }


def rows(
    runs: Sequence[Mapping[str, Any]], rates: Mapping[str, Mapping[str, Any]]
) -> list[list[Cell]]:
    """Returns a row for each load and tool: its median errors, and once its highest rate."""
    of_row: dict[tuple[str, str], list[Compared]] = {}
    for run in runs:
        of_row.setdefault((named(run["load"]), run["tool"]), []).append(run["compared"])
    first_load = named(runs[0]["load"])
    return [
        [
            f"{tool}, {load}",
            *(_median_error(all_of, metric, share) for metric in METRICS for share in SHARES),
            rates[tool]["most_sent_per_s"] if load == first_load else None,
        ]
        for (load, tool), all_of in of_row.items()
    ]


def _median_error(runs: Sequence[Compared], metric: str, share: str) -> float | None:
    errors = [run[metric][share]["error"] for run in runs if metric in run]
    return statistics.median(errors) if errors else None


def named(load: Mapping[str, Any]) -> str:
    """Returns a load in words."""
    if load["arrivals"] == "closed":
        return f"{load['users']} users"
    return f"{load['arrivals']} {load['rate']:g}/s"
