"""How much better is B than A, and how sure is that: the paired bootstrap."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from turnout_load.stats.percentiles import CONFIDENCE, PERCENTILES, interval_ranks, quantile

Block = tuple[Sequence[float], Sequence[float]]
"""What A and B measured under the same conditions: of one request, or in one round."""
Statistic = Callable[[list[float]], float]


@dataclass(frozen=True, slots=True)
class Difference:
    """B against A, in percent of A: -12 is 12% lower."""

    percent: float
    interval: tuple[float, float] | None
    """95% of it; None where the samples are too small for the statistic."""


def pairs(a: Iterable[float], b: Iterable[float]) -> list[Block]:
    """Makes a block of every pair; raises ValueError if the samples are not equally long."""
    return [((x,), (y,)) for x, y in zip(a, b, strict=True)]


def relative_difference(
    blocks: Sequence[Block], statistic: str, seed: int, resamples: int = 1000
) -> Difference:
    """Compares `mean` or a percentile such as `p95` of positive values measured side by side.

    Draws as many blocks as there are, with replacement, and takes the middle 95% of what the
    statistic's difference then comes to (Efron and Tibshirani, "An Introduction to the Bootstrap",
    13.3). A drawn block brings A and B together, so what moved both alike cancels out. Rounds as
    blocks also keep together requests that waited in one queue; ten are few. Raises ValueError
    where a block lacks a side or a value is not positive.
    """
    a, b = _joined(blocks)
    if not all(x and y for x, y in blocks) or min((*a, *b), default=0) <= 0:
        raise ValueError("a relative difference needs positive values on both sides of each block")
    compute = _statistic(statistic)
    percent = _percent(blocks, compute)
    if not _is_enough(blocks, min(len(a), len(b)), statistic):
        return Difference(percent, None)
    draw = random.Random(seed)
    drawn = sorted(_percent(draw.choices(blocks, k=len(blocks)), compute) for _ in range(resamples))
    tail = (1 - CONFIDENCE) / 2
    return Difference(percent, (quantile(drawn, tail), quantile(drawn, 1 - tail)))


def _percent(blocks: Sequence[Block], compute: Statistic) -> float:
    a, b = (compute(values) for values in _joined(blocks))
    return (b - a) / a * 100


def _joined(blocks: Sequence[Block]) -> tuple[list[float], list[float]]:
    return (
        list(chain.from_iterable(block[0] for block in blocks)),
        list(chain.from_iterable(block[1] for block in blocks)),
    )


def _is_enough(blocks: Sequence[Block], count: int, statistic: str) -> bool:
    has_tail = statistic == "mean" or interval_ranks(count, PERCENTILES[statistic]) is not None
    return has_tail and len(blocks) > 1


def statistic_of(values: list[float], name: str) -> float:
    """Returns a sample's `mean` or percentile such as `p95`."""
    return _statistic(name)(list(values))


def _statistic(name: str) -> Statistic:
    return _mean if name == "mean" else partial(_percentile, share=PERCENTILES[name])


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _percentile(values: list[float], share: float) -> float:
    values.sort()
    return quantile(values, share)
