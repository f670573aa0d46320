"""The highest rate that meets an SLO, found by doubling and then halving. Pure but for `run`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from turnout_load.assertions import Assertion, check, has_interval
from turnout_load.errors import BadOption
from turnout_load.onward import onward
from turnout_load.records import Records
from turnout_load.result import Result
from turnout_load.spec import Spec
from turnout_load.stability import backlog
from turnout_load.sweep_result import SweepPoint, SweepResult

Run = Callable[[Spec], tuple[Result, Records]]
ARRIVALS = ("constant", "poisson", "gamma")
"""Those that have one rate."""
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
    spec: Spec,
    slo: Sequence[Assertion],
    rates: Range,
    run: Run,
    tell: Callable[[SweepPoint], None],
) -> SweepResult:
    """Runs rate after rate until the highest one that meets the SLO is known.

    Each run sends other bytes than the one before it. Ctrl-C ends the search, and leaves the run
    out of it that was under way. Raises `BadOption` for a workload without a rate of its own to
    change.
    """
    spec = prepared(spec, slo)
    points: list[SweepPoint] = []
    was_stopped = False
    try:
        while (rate := _untried(points, rates)) is not None:
            result, records = run(replace(spec, workload=replace(spec.workload, rate=rate)))
            if was_stopped := result.was_stopped:
                break
            points.append(judged(rate, result, records, slo))
            tell(points[-1])
            spec = onward(spec, records)
    except KeyboardInterrupt:  # also while a run's processes start, when nothing is measured yet
        was_stopped = True
    met = [point.rate for point in points if point.meets_slo]
    failed = [point.rate for point in points if not point.meets_slo]
    return SweepResult(
        slo=[each.text for each in slo],
        points=points,
        highest_rate=max(
            (each for each in met if each < min(failed, default=each + 1)), default=None
        ),
        knee=knee(points),
        notes=_notes(points, rates, _untried(points, rates) if was_stopped else None),
    )


def _untried(points: Sequence[SweepPoint], rates: Range) -> float | None:
    if len(points) == MAX_TRIALS:
        return None
    return next_rate([(point.rate, point.meets_slo) for point in points], rates)


def prepared(spec: Spec, slo: Sequence[Assertion]) -> Spec:
    """Returns the spec of a sweep's runs: each request is to keep the limits of the latencies.

    That makes of `ttft.p95<500ms` and `goodput>0.95` that 95% of the requests have TTFT<500ms.
    """
    workload = spec.workload
    if workload.trace is not None:
        raise BadOption("--trace", workload.trace, "none in a sweep: a trace has its own times")
    if workload.arrivals not in ARRIVALS:
        expected = f"{', '.join(ARRIVALS)}: a sweep changes their rate"
        raise BadOption("--arrivals", workload.arrivals, expected)
    latencies = [each for each in slo if "." in each.name]
    if not latencies and any(each.name == "goodput" for each in slo):
        expected = "a latency beside it that requests must keep, such as 'ttft.p95<500ms'"
        raise BadOption("--slo", "goodput", expected)
    parts = (each.text.replace(each.name, each.name.partition(".")[0], 1) for each in latencies)
    return replace(spec, slo=tuple(dict.fromkeys(parts)))


def judged(rate: float, result: Result, records: Records, slo: Sequence[Assertion]) -> SweepPoint:
    """Returns a rate's point: it meets the SLO only if every part of it was measured and holds.

    Nor does it where requests came faster than they were answered: the longer such a run, the
    longer its latencies, and a short one says nothing of the rate.
    """
    checks = check(result, slo)
    missed = [each for each in checks if not each.holds]
    because = [", ".join(each.sentence for each in (missed or checks))]
    unsure = [each.name for each in slo if not has_interval(result, each.name)]
    growing = backlog(records, result.spec.get("warm_up_s", 0.0))
    if growing:
        because.insert(0, growing)
    if unsure:
        because.append(f"too few requests to be sure of {', '.join(unsure)}")
    if result.client.is_bottleneck:
        because.append("the client was the bottleneck")
    return SweepPoint(
        rate=rate, meets_slo=not (missed or growing), because="; ".join(because), result=result
    )


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


def _notes(points: Sequence[SweepPoint], rates: Range, stopped_at: float | None) -> list[str]:
    notes = []
    if stopped_at is not None:
        notes.append(
            f"stopped while {stopped_at:.4g}/s ran: that rate is left out, and a higher one may "
            "meet the SLO"
        )
    elif all(point.meets_slo for point in points):
        notes.append(f"the SLO is met up to the highest rate tried: look above {rates.highest:g}/s")
    elif not any(point.meets_slo for point in points):
        notes.append(f"the SLO is missed at the lowest rate already: look below {rates.lowest:g}/s")
    if any(point.result.client.is_bottleneck for point in points):
        notes.append("the client was the bottleneck at some rates: use more --processes")
    return notes
