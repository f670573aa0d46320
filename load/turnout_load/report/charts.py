"""The charts of the pages: each from figures to one picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from turnout_load.report.curves import Point, Timeline
from turnout_load.report.markup import Element
from turnout_load.report.scale import Scale, exact, fitting, linear
from turnout_load.report.svg import Plot
from turnout_load.report.units import seconds
from turnout_load.result import Distribution, Result

SHARES = Scale(0, 100, (0, 25, 50, 75, 90, 100))
STYLES = ("one", "two")
"""Classes of a chart's first and second line."""
WIDE, LOW = 1040.0, 190.0


def cdf_chart(name: str, of: str, curves: Sequence[Sequence[Point]]) -> Element:
    """Draws distributions of a latency in ms: how many percent (`of` what) took at most so long."""
    values = [x for points in curves for x, _ in points]
    unit, divisor = _latency_unit(max(values))
    plot = Plot(fitting(x / divisor for x in values), SHARES, f"{name}, {unit}", f"% of {of}")
    marks = [
        plot.line([(x / divisor, at * 100) for x, at in points], style)
        for style, points in zip(STYLES, curves, strict=False)
    ]
    told = f"How many of all {of} took at most so long; the table has the percentiles."
    return plot.draw(f"Distribution of {name}", told, marks)


def in_flight_chart(timeline: Timeline, warm_up_s: float) -> Element:
    """Draws the most requests in flight at once."""
    counts = [float(each.peak_in_flight) for each in timeline.intervals]
    return _over_time(timeline, warm_up_s, "Requests in flight", "requests", [counts])


def finished_chart(timeline: Timeline, warm_up_s: float) -> Element:
    """Draws how many answers came whole per second, and how many requests failed."""
    ok = [each.ok_per_s for each in timeline.intervals]
    failed = [each.failed_per_s for each in timeline.intervals]
    title, y_label = "Requests finished", "requests per second"
    return _over_time(timeline, warm_up_s, title, y_label, [ok, failed])


def ttft_chart(timeline: Timeline, warm_up_s: float) -> Element:
    """Draws p50 and p95 of the TTFT, by when requests were to be sent."""
    pairs = [each.ttft_ms or (None, None) for each in timeline.intervals]
    unit, divisor = _latency_unit(max((p95 for _, p95 in pairs if p95 is not None), default=0))
    lines = [[each and each / divisor for each in line] for line in zip(*pairs, strict=True)]
    return _over_time(timeline, warm_up_s, "TTFT over time", f"TTFT, {unit}", lines)


def _over_time(
    timeline: Timeline,
    warm_up_s: float,
    title: str,
    y_label: str,
    lines: Sequence[Sequence[float | None]],
) -> Element:
    unit, divisor = _time_unit(timeline.end_s)
    most = max((value for line in lines for value in line if value is not None), default=0)
    x, y = exact(timeline.end_s / divisor), linear(0, most or 1, 4)
    plot = Plot(x, y, f"time since the start, {unit}", y_label, WIDE, LOW)
    marks = plot.band(0, warm_up_s / divisor, "warm-up") if warm_up_s else []
    for style, line in zip(STYLES, lines, strict=False):
        places = zip((each.middle_s / divisor for each in timeline.intervals), line, strict=True)
        marks += plot.lines(places, style)
    every = seconds(timeline.width_s)
    return plot.draw(title, f"A point for each {every}; the table has the figures.", marks)


def throughput_latency(
    points: Sequence[tuple[float, Result]],
    knee: float | None,
    name: str,
    of: Callable[[Result], Distribution | None],
) -> Element | None:
    """Draws p50 and p95 of a latency over the throughput reached, for rates and their results.

    `knee` is the intended rate that is marked. None if no run has that latency.
    """
    runs = [_Run(rate, each, found) for rate, each in points if (found := of(each)) is not None]
    if not runs:
        return None
    runs.sort(key=lambda run: run.rate)
    unit, divisor = _latency_unit(max(run.latency.p95 for run in runs))
    lines = [
        [(run.finished, run.latency.p50 / divisor) for run in runs],
        [(run.finished, run.latency.p95 / divisor) for run in runs],
    ]
    heights = fitting(y for line in lines for _, y in line)
    y = heights if heights.is_logarithmic else linear(0, heights.high)
    plot = Plot(
        linear(0, max(run.finished for run in runs)),
        y,
        "requests finished per second",
        f"{name}, {unit}",
    )
    marks = [
        mark
        for run in runs
        if run.rate == knee
        for mark in plot.upright(run.finished, f"knee: {run.rate:g}/s sent")
    ]
    for style, line in zip(STYLES, lines, strict=True):
        marks += [plot.line(line, style), *plot.dots(line, f"dot {style}")]
    return plot.draw(f"{name} over throughput", "One dot per rate; the table has them.", marks)


@dataclass(frozen=True, slots=True)
class _Run:
    rate: float
    result: Result
    latency: Distribution

    @property
    def finished(self) -> float:
        return self.result.rates.requests_finished


def _latency_unit(most_ms: float) -> tuple[str, float]:
    return ("ms", 1.0) if most_ms < 5_000 else ("s", 1000.0)


def _time_unit(duration_s: float) -> tuple[str, float]:
    return ("s", 1.0) if duration_s < 600 else ("min", 60.0)
