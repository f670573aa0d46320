"""Whether a deployment stays as it is over hours: the run in windows, and what drifts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from turnout_load.metrics.e2e import E2E
from turnout_load.metrics.metric import Metric, S, measure
from turnout_load.metrics.ttft import TTFT
from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.result import Distribution

WATCHED: tuple[Metric, ...] = (TTFT, E2E)
FEWEST = 4
"""Windows that drift can be told from: a quarter of the run is one of them."""


@dataclass(frozen=True)
class Window:
    """The requests that were to be sent within one stretch of the run."""

    begin_s: float
    sent: int
    failed: int
    latencies: dict[str, Distribution | None]
    """By metric's name, in milliseconds."""


def windows(records: Records, width_s: float) -> list[Window]:
    """Cuts the time in which conversations were started into windows of `width_s`.

    A last window of which less than half came to pass is left out, and so is what was sent later:
    next turns, while the last answers were waited for.
    """
    starts_ns = (record.intended_ns for record in records if not record.turn)
    count = max(1, round(max(starts_ns, default=0) / S / width_s))
    within: list[list[Record]] = [[] for _ in range(count)]
    for record in records:
        number = int(record.intended_ns / S / width_s)
        if number < count:
            within[number].append(record)
    return [_window(number * width_s, each) for number, each in enumerate(within)]


def unjudged(of_run: Sequence[Window]) -> list[str]:
    """Returns a sentence where there are too few windows, or too few answers in them, to tell."""
    if len(of_run) < FEWEST:
        return [
            f"drift is not judged: it takes {FEWEST} windows, and the run has {len(of_run)}; "
            "make it longer, or --window shorter"
        ]
    return [
        f"drift of {metric.name} is not judged: windows have too few answers; make them longer"
        for metric in WATCHED
        if _seen(of_run, metric) is None
    ]


def drifts(of_run: Sequence[Window]) -> list[str]:
    """Returns a sentence for each median that left the first window's 95% interval for good.

    The first window after the first quarter's end is the reference: engines warm up before it. A
    metric drifts when the medians of the last quarter's windows all lie outside its interval, on
    the same side.
    """
    found = []
    for metric in WATCHED:
        if (seen := _seen(of_run, metric)) is None:
            continue
        before, interval, medians = seen
        if way := _way(medians, interval):
            now = sorted(medians)[len(medians) // 2]
            found.append(
                f"{metric.name} {way} over the run: a median of {before:.1f} ms became {now:.1f} ms"
            )
    return found


def _seen(
    of_run: Sequence[Window], metric: Metric
) -> tuple[float, tuple[float, float], list[float]] | None:
    """Returns the reference's median and its interval, and the medians of the last quarter."""
    if len(of_run) < FEWEST:
        return None
    quarter = len(of_run) // 4
    reference = of_run[quarter].latencies[metric.name]
    last = [window.latencies[metric.name] for window in of_run[-quarter:]]
    interval = reference.ci95["p50"] if reference else None
    medians = [each.p50 for each in last if each is not None]
    if reference is None or interval is None or len(medians) < len(last):
        return None
    return reference.p50, interval, medians


def _way(medians: Sequence[float], interval: tuple[float, float]) -> str:
    low, high = interval
    if all(median > high for median in medians):
        return "rose"
    return "fell" if all(median < low for median in medians) else ""


def _window(begin_s: float, records: Sequence[Record]) -> Window:
    answered = [record for record in records if record.ok]
    return Window(
        begin_s=begin_s,
        sent=len(records),
        failed=sum(not record.ok and record.error != "unfinished" for record in records),
        latencies={metric.name: measure(metric, answered) for metric in WATCHED},
    )


def table(of_run: Sequence[Window]) -> str:
    """Returns the windows as a Markdown table."""
    lines = [
        "| from, s | sent | failed | TTFT p50, ms | TTFT p95, ms | E2E p50, ms | E2E p95, ms |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for window in of_run:
        figures = [
            f"{getattr(latency, each):.1f}" if latency else ""
            for latency in window.latencies.values()
            for each in ("p50", "p95")
        ]
        cells = [f"{window.begin_s:g}", str(window.sent), str(window.failed), *figures]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
