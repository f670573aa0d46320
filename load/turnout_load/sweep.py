"""The highest rate that meets an SLO, found by doubling and then halving. Pure but for `run`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from turnout_load.assertions import Assertion, check
from turnout_load.result import Result
from turnout_load.sweep_result import SweepPoint, SweepResult

MAX_TRIALS = 24


@dataclass(frozen=True)
class Range:
    """Rates to search, in conversations a second."""

    lowest: float
    highest: float
    resolution: float = 0.05
    """How near the best rate must be to one that fails, as a share of it."""


def next_rate(tried: Sequence[tuple[float, bool]], rates: Range) -> float | None:
    """Returns the rate to try next, or None when the answer is as exact as asked.

    Doubles from the lowest rate until one fails, then halves the interval between the highest
    that met the SLO below the lowest that failed, by ratio.
    """
    failed = [rate for rate, meets in tried if not meets]
    bound = min(failed) if failed else None
    met = [rate for rate, meets in tried if meets and (bound is None or rate < bound)]
    if not tried:
        return rates.lowest
    if bound is None:
        best = max(met)
        return min(best * 2, rates.highest) if best < rates.highest else None
    if not met:
        return None  # even the lowest rate is too much
    middle = (max(met) * bound) ** 0.5
    return middle if bound / max(met) > 1 + rates.resolution else None


def sweep(
    run: Callable[[float], Result],
    slo: Sequence[Assertion],
    rates: Range,
    tell: Callable[[SweepPoint], None],
) -> SweepResult:
    """Runs rate after rate until the highest one that meets the SLO is known."""
    points: list[SweepPoint] = []
    while len(points) < MAX_TRIALS:
        rate = next_rate([(point.rate, point.meets_slo) for point in points], rates)
        if rate is None:
            break
        points.append(judged(rate, run(rate), slo))
        tell(points[-1])
    met = [point.rate for point in points if point.meets_slo]
    failed = [point.rate for point in points if not point.meets_slo]
    highest = max((rate for rate in met if rate < min(failed, default=rate + 1)), default=None)
    return SweepResult(
        slo=[each.text for each in slo],
        points=points,
        highest_rate=highest,
        knee=knee(points),
        notes=_notes(points, bool(failed), rates),
    )


def judged(rate: float, result: Result, slo: Sequence[Assertion]) -> SweepPoint:
    """Returns a rate's point: it meets the SLO only if every part of it was measured and holds."""
    checks = check(result, slo)
    missed = [each for each in checks if not each.holds]
    because = ", ".join(each.sentence for each in (missed or checks))
    if result.client.is_bottleneck:
        because += "; the client was the bottleneck"
    return SweepPoint(rate=rate, meets_slo=not missed, because=because, result=result)


def knee(points: Sequence[SweepPoint]) -> float | None:
    """Returns the rate of the greatest power: throughput over mean latency (Kleinrock 1979).

    Below it more load is taken at little more latency; above it latency pays for every request.
    None with fewer than three rates, or where the greatest stands at either end.
    """
    powers = sorted(
        (point.rate, point.result.rates.requests_finished / point.result.e2e_ms.mean)
        for point in points
        if point.result.e2e_ms is not None
    )
    best = max(range(len(powers)), key=lambda number: powers[number][1], default=0)
    return powers[best][0] if 0 < best < len(powers) - 1 else None


def _notes(points: Sequence[SweepPoint], found_a_limit: bool, rates: Range) -> list[str]:
    notes = []
    if not found_a_limit:
        notes.append(f"the SLO is met up to the highest rate tried: look above {rates.highest:g}/s")
    if all(not point.meets_slo for point in points):
        notes.append(f"the SLO is missed at the lowest rate already: look below {rates.lowest:g}/s")
    if any(point.result.client.is_bottleneck for point in points):
        notes.append("the client was the bottleneck at some rates: use more --processes")
    return notes
