"""Percentiles of a sample, and how far they can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Protocol

from turnout_load.result import Distribution
from turnout_load.stats.histogram import Histogram

PERCENTILES: Mapping[str, float] = {
    "p50": 0.50,
    "p75": 0.75,
    "p90": 0.90,
    "p95": 0.95,
    "p99": 0.99,
    "p99.9": 0.999,
}
CONFIDENCE = 0.95


class Ascending(Protocol):
    """Values by rank from 0, such as a sorted list."""

    def __len__(self) -> int: ...
    def __getitem__(self, rank: int, /) -> float: ...


def quantile(ordered: Ascending, share: float) -> float:
    """Returns the quantile of an ascending sample, 0 ≤ share ≤ 1.

    Definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (The American
    Statistician, 1996): linear between the order statistics around (n - 1) x share, as numpy's
    default and `statistics.quantiles(method="inclusive")`. Raises IndexError if there is no value.
    """
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    low, high = ordered[below], ordered[above]
    return low + (high - low) * (position - below)


def interval_ranks(count: int, share: float) -> tuple[int, int] | None:
    """Returns the ranks (from 1) of the order statistics that enclose a quantile with 95%.

    The number of values below the true quantile is binomial(count, share) whatever their
    distribution, so each tail beyond the ranks holds at most 2.5% (Conover, "Practical
    Nonparametric Statistics", 3.2; Hahn and Meeker, "Statistical Intervals", 5.2). None where the
    sample is too small: a median needs 6 values, p95 72, p99 368, p99.9 3,688.
    """
    tail = (1 - CONFIDENCE) / 2
    low = _binomial_quantile(count, share, tail)
    high = _binomial_quantile(count, share, 1 - tail) + 1
    return (low, high) if low >= 1 and high <= count else None


def _binomial_quantile(count: int, share: float, probability: float) -> int:
    """Returns the least k whose P(binomial ≤ k) is above the probability."""
    mean, deviation = count * share, math.sqrt(count * share * (1 - share))
    k = max(0, math.floor(mean - 10 * deviation))  # what lies below weighs under 1e-6
    term = math.exp(
        math.lgamma(count + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + k * math.log(share)
        + (count - k) * math.log1p(-share)
    )
    total = term
    while total <= probability and k < count:
        term *= (count - k) / (k + 1) * share / (1 - share)
        total += term
        k += 1
    return k


def distribution(values: Iterable[float]) -> Distribution | None:
    """Returns the percentiles of a sample of independent values, or None if it is empty.

    Under a queue neighbours resemble each other: intervals are then too narrow, and repeated runs
    say more than one long one.
    """
    ordered = sorted(values)
    if not ordered:
        return None
    mean = math.fsum(ordered) / len(ordered)
    return _distribution(ordered, mean, (ordered[0], ordered[-1]), len(ordered))


def pooled_distribution(
    histogram: Histogram, unit_ns: int, independent: int
) -> Distribution | None:
    """Returns the percentiles of a histogram in units of `unit_ns`, or None if it is empty.

    `independent` is how many independent values the pooled ones are worth: intervals are as wide
    as those of a sample of that size.
    """
    if not histogram.count:
        return None
    mean = histogram.total / histogram.count / unit_ns
    bounds = (histogram.minimum / unit_ns, histogram.maximum / unit_ns)
    return _distribution(histogram.ordered(unit_ns), mean, bounds, independent)


def _distribution(
    ordered: Ascending, mean: float, bounds: tuple[float, float], independent: int
) -> Distribution:
    at = {name: quantile(ordered, share) for name, share in PERCENTILES.items()}
    return Distribution(
        count=len(ordered),
        mean=mean,
        min=bounds[0],
        max=bounds[1],
        p50=at["p50"],
        p75=at["p75"],
        p90=at["p90"],
        p95=at["p95"],
        p99=at["p99"],
        p99_9=at["p99.9"],
        ci95={name: _interval(ordered, share, independent) for name, share in PERCENTILES.items()},
    )


def _interval(ordered: Ascending, share: float, independent: int) -> tuple[float, float] | None:
    ranks = interval_ranks(independent, share)
    if ranks is None:
        return None
    low, high = (
        ordered[round((rank - 1) * (len(ordered) - 1) / (independent - 1))] for rank in ranks
    )
    return low, high
