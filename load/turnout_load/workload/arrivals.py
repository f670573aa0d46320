"""When conversations start: one seeded stream of counts, bent onto the clock by the wanted rate.

Counts are the points of a renewal process of rate 1 whose gaps have the wanted coefficient of
variation: 0 is evenly spaced, 1 is a Poisson process, above 1 is bursty (gamma gaps of shape
1/cv², mean 1). A profile maps each count to the instant at which the integral of its rate reaches
it, exactly; so `ramp` and `steps` are Poisson with a changing rate unless the burstiness says
otherwise, and every instant is computed from the run's start: rounding never adds up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from turnout_load.errors import BadOption
from turnout_load.spec import Workload
from turnout_load.workload.seeded import generator

KINDS = ("constant", "poisson", "gamma", "ramp", "steps")


class Profile(Protocol):
    """The rate over the run, as what is needed to start conversations by it."""

    def time_s(self, started: float) -> float:
        """Returns when the expected number of starts reaches `started`; infinity if never."""
        ...

    def expected(self, duration_s: float) -> float:
        """Returns the expected number of starts within the run."""
        ...


@dataclass(frozen=True, slots=True)
class Flat:
    """One rate, per second."""

    rate: float

    def time_s(self, started: float) -> float:
        """Returns `started / rate`."""
        return started / self.rate

    def expected(self, duration_s: float) -> float:
        """Returns rate times duration."""
        return self.rate * duration_s


@dataclass(frozen=True, slots=True)
class Ramp:
    """A rate that changes linearly from `first` to `last` over the run, and ends with it."""

    first: float
    last: float
    duration_s: float

    def time_s(self, started: float) -> float:
        """Solves `first·t + (last - first)·t²/(2·duration) = started` for the earliest t."""
        slope = (self.last - self.first) / self.duration_s
        squared = self.first**2 + 2 * slope * started
        if squared < 0:
            return math.inf
        # The usual quotient's conjugate: exact for a slope near 0, where that one cancels.
        divisor = self.first + math.sqrt(squared)
        time = 2 * started / divisor if divisor else 0.0
        return time if time <= self.duration_s else math.inf

    def expected(self, duration_s: float) -> float:
        """Returns the trapezoid's area."""
        return (self.first + self.last) / 2 * duration_s


@dataclass(frozen=True, slots=True)
class Steps:
    """Rates one after another, each held for an equal share of the run."""

    rates: tuple[float, ...]
    duration_s: float

    def time_s(self, started: float) -> float:
        """Walks the steps until the rest of `started` falls within one; a rate of 0 is a pause."""
        held_s = self.duration_s / len(self.rates)
        for number, rate in enumerate(self.rates):
            if started < rate * held_s:
                return number * held_s + started / rate
            started -= rate * held_s
        return math.inf

    def expected(self, duration_s: float) -> float:
        """Returns the steps' mean rate times duration."""
        return sum(self.rates) / len(self.rates) * duration_s


@dataclass(frozen=True, slots=True)
class Renewal:
    """Starts by a profile, with gaps of a coefficient of variation."""

    profile: Profile
    burstiness: float

    def offsets_ns(self, seed: int) -> Iterator[int]:
        """Yields offsets from the run's start that never decrease, until the profile ends."""
        for started in _counts(seed, self.burstiness):
            time_s = self.profile.time_s(started)
            if math.isinf(time_s):
                return
            yield round(time_s * 1e9)


def _counts(seed: int, burstiness: float) -> Iterator[float]:
    if not burstiness:
        yield from count()
    rng = generator(seed, "arrivals")
    shape, scale, started = burstiness**-2, burstiness**2, 0.0
    while True:
        started += rng.gammavariate(shape, scale)
        yield started


def arrivals(workload: Workload, duration_s: float | None) -> Renewal:
    """Returns the arrivals that a workload asks for; raises BadOption. `closed` has none."""
    kind = workload.arrivals
    if kind not in KINDS:
        raise BadOption("--arrivals", kind, f"{', '.join(KINDS)} or closed")
    if workload.burstiness and not 0.01 <= workload.burstiness <= 100:
        raise BadOption("--burstiness", str(workload.burstiness), "0 (even), or from 0.01 to 100")
    cv = {"constant": 0.0, "poisson": 1.0}.get(kind, workload.burstiness)
    return Renewal(_profile(workload, duration_s), cv)


def _profile(workload: Workload, duration_s: float | None) -> Profile:
    if workload.arrivals not in ("ramp", "steps"):
        return Flat(*_rates("--rate", workload.rate))
    if duration_s is None:
        expected = "a --duration beside it: the rate changes over the run"
        raise BadOption("--arrivals", workload.arrivals, expected)
    if workload.arrivals == "steps":
        return Steps(_rates("--step", *workload.steps), duration_s)
    if workload.ramp_to is None:
        raise BadOption("--arrivals", "ramp", "a --ramp-to beside it, the last rate")
    first, last = _rates("--rate and --ramp-to", workload.rate, workload.ramp_to)
    return Ramp(first, last, duration_s)


def _rates(option: str, *rates: float) -> tuple[float, ...]:
    if not any(rates) or not all(0 <= rate < math.inf for rate in rates):
        text = ",".join(f"{rate:g}" for rate in rates)
        raise BadOption(option, text, "conversations per second, none below 0 and one above 0")
    return rates
