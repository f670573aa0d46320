"""Axes: where they begin and end, and which values get a tick."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

LOGARITHMIC_FROM = 20
"""Data whose largest value is this many times its smallest gets a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis in the data's own unit."""

    low: float
    high: float
    ticks: tuple[float, ...]
    is_logarithmic: bool = False

    def share(self, value: float) -> float:
        """Returns how far along the axis a value lies, from 0 to 1."""
        if self.is_logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def linear(low: float, high: float, most: int = 6) -> Scale:
    """Returns an axis that ends at ticks, which are multiples of 1, 2 or 5 x 10^n."""
    if high - low <= abs(high) * 1e-9:  # one value, or as good as one
        low, high = low - abs(low) * 0.1, high + (abs(high) * 0.1 or 1)
    step = _step(high - low, most)
    first, last = math.floor(_near(low / step)), math.ceil(_near(high / step))
    ticks = tuple(_near(number * step) for number in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def exact(high: float, most: int = 12) -> Scale:
    """Returns an axis from 0 that ends with the data: for time, which has no round end."""
    around = linear(0, high, most)
    return Scale(0, high or 1, tuple(tick for tick in around.ticks if tick <= (high or 1)))


def logarithmic(low: float, high: float) -> Scale:
    """Returns an axis of decades with ticks at 1, 2 and 5, or at the decades if they are many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [_near(each * 10.0**decade) for decade in decades for each in (1, 2, 5)]
    first = max(mark for mark in marks if mark <= low)
    last = min(mark for mark in marks if mark >= high)
    ticks = tuple(mark for mark in marks if first <= mark <= last)
    if len(ticks) > 8:
        ticks = tuple(tick for tick in ticks if math.log10(tick).is_integer())
    return Scale(first, last, ticks, is_logarithmic=True)


def fitting(values: Iterable[float]) -> Scale:
    """Returns the axis that shows these values best, by how far apart they are."""
    known = list(values)
    low, high = min(known, default=0.0), max(known, default=1.0)
    if low > 0 and high / low >= LOGARITHMIC_FROM:
        return logarithmic(low, high)
    return linear(low, high)


def tick_text(value: float) -> str:
    """Returns a tick's label: no more digits than it has."""
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")


def _step(span: float, most: int) -> float:
    """Returns the least of 1, 2, 5 x 10^n that cuts the span into at most `most` steps."""
    unit = 10.0 ** math.floor(math.log10(span / most))
    return next(unit * each for each in (1, 2, 5, 10) if span / (unit * each) <= most + 1e-9)


def _near(value: float) -> float:
    """Takes away what binary fractions add: 0.30000000000000004."""
    return float(f"{value:.12g}")
