"""What an engine says of its own times on its metrics page, and a run's part of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

HISTOGRAMS = {
    "vllm:time_to_first_token_seconds": "ttft_ms",
    "vllm:inter_token_latency_seconds": "itl_ms",
}
"""vLLM's histograms by the metric that they measure."""
SAMPLE = re.compile(r"^(?P<name>[\w:]+)_(?P<part>sum|count)(?:\{.*\})? (?P<value>\S+)$", re.M)
"""A histogram's sum or count in Prometheus' text format."""


@dataclass(frozen=True)
class Total:
    """A histogram without its buckets."""

    sum_s: float
    count: int


@dataclass(frozen=True)
class Mean:
    """A mean in milliseconds, and of how many values."""

    ms: float
    count: int


def totals(page: str) -> dict[str, Total]:
    """Returns the page's totals by metric, all its label sets together."""
    found = dict.fromkeys(HISTOGRAMS.values(), Total(0.0, 0))
    for sample in SAMPLE.finditer(page):
        if metric := HISTOGRAMS.get(sample["name"]):
            value, total = float(sample["value"]), found[metric]
            is_sum = sample["part"] == "sum"
            found[metric] = Total(
                total.sum_s + value * is_sum, total.count + round(value * (not is_sum))
            )
    return found


def means_between(
    before: Mapping[str, Total], after: Mapping[str, Total]
) -> dict[str, Mean | None]:
    """Returns the means of what was observed between two pages; None where nothing was."""
    return {metric: _mean(before[metric], total) for metric, total in after.items()}


def _mean(before: Total, after: Total) -> Mean | None:
    count = after.count - before.count
    return Mean((after.sum_s - before.sum_s) / count * 1000, count) if count else None
