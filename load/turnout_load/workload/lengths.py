"""Lengths and waits drawn from what an option's text says, such as `lognormal:mean=512,sd=200`.

Every form may end in `,min=…` or `,max=…`: what falls outside is moved to the bound.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from turnout_load.errors import BadOption
from turnout_load.workload.histogram import read_histogram

FORMS = (
    "fixed:N, normal:mean=M,sd=S, lognormal:mean=M,sd=S, uniform:low=L,high=H or histogram:PATH, "
    "no number below 0, each with an optional ,min=N and ,max=N"
)
Sampler = Callable[[Random], float]


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of 0 or more, such as seconds, drawn anew each time."""

    sampler: Sampler
    low: float
    high: float

    def draw(self, rng: Random) -> float:
        """Returns one value within the bounds."""
        return min(max(self.sampler(rng), self.low), self.high)


@dataclass(frozen=True, slots=True)
class Length:
    """A whole number of 1 or more, such as tokens or turns, drawn anew each time."""

    amount: Amount

    def draw(self, rng: Random) -> int:
        """Returns one value, rounded to the nearest whole number."""
        return max(1, round(self.amount.draw(rng)))


def length(option: str, text: str) -> Length:
    """Returns the length that an option's text describes; raises BadOption or BadData."""
    return Length(amount(option, text))


def amount(option: str, text: str) -> Amount:
    """Returns the amount that an option's text describes; raises BadOption or BadData."""
    form = re.fullmatch(r"(\w+):(.+?)((?:,(?:min|max)=[^,]*)*)", text)
    make = _SAMPLERS.get(form[1]) if form else None
    if form is None or make is None:
        raise BadOption(option, text, FORMS)
    try:
        bounds = {"min": 0.0, "max": math.inf} | _numbers(form[3].removeprefix(","))
        sampler = make(form[2])
    except ValueError as error:
        raise BadOption(option, text, FORMS) from error
    if bounds["min"] > bounds["max"]:
        raise BadOption(option, text, "a min that is not above the max")
    return Amount(sampler, bounds["min"], bounds["max"])


def _fixed(text: str) -> Sampler:
    (value,) = _numbers(f"value={text}").values()
    return lambda _: value


def _normal(text: str) -> Sampler:
    mean, sd = _two(text, "mean", "sd")
    return lambda rng: rng.gauss(mean, sd)


def _lognormal(text: str) -> Sampler:
    """Converts the mean m and deviation s of the values: σ² = ln(1 + s²/m²), μ = ln m - σ²/2."""
    mean, sd = _two(text, "mean", "sd")
    if not mean:
        raise ValueError("a lognormal's mean is above 0")
    variance = math.log1p((sd / mean) ** 2)
    mu, sigma = math.log(mean) - variance / 2, math.sqrt(variance)
    return lambda rng: rng.lognormvariate(mu, sigma)


def _uniform(text: str) -> Sampler:
    low, high = _two(text, "low", "high")
    if low > high:
        raise ValueError("low is above high")
    return lambda rng: rng.uniform(low, high)


def _histogram(path: str) -> Sampler:
    weights = read_histogram(path)
    values, sums = list(weights), list(accumulate(weights.values()))
    return lambda rng: rng.choices(values, cum_weights=sums)[0]


_SAMPLERS: dict[str, Callable[[str], Sampler]] = {
    "fixed": _fixed,
    "normal": _normal,
    "lognormal": _lognormal,
    "uniform": _uniform,
    "histogram": _histogram,
}


def _two(text: str, first: str, second: str) -> tuple[float, float]:
    numbers = _numbers(text)
    if numbers.keys() != {first, second}:
        raise ValueError(f"{first} and {second} are needed")
    return numbers[first], numbers[second]


def _numbers(text: str) -> dict[str, float]:
    """Reads `name=number,…`; raises ValueError for what is no finite number of 0 or more."""
    numbers = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        numbers[name] = float(value)
        if not 0 <= numbers[name] < math.inf:
            raise ValueError(f"{part} is below 0 or has no end")
    return numbers
