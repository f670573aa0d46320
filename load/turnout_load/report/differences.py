"""What the reports tell of a comparison and of a sweep, as tables."""

from __future__ import annotations

from turnout_load.comparison import Comparison
from turnout_load.report.table import Table
from turnout_load.report.units import milliseconds, number, percent, share, usd
from turnout_load.report.verdict import LATENCIES, label
from turnout_load.sweep_result import SweepResult

SHARES = ("goodput", "prefix_cache", "error_rate")


def metrics(comparison: Comparison) -> Table:
    """Returns each metric of A and B with its difference."""
    rows = [
        (
            label(each.name),
            _value(each.name, each.a),
            _value(each.name, each.b),
            percent(each.difference_percent),
            _interval(each.ci95_percent),
            each.verdict,
        )
        for each in comparison.metrics
    ]
    head = ("metric", "A", "B", "difference", "95% interval", "in words")
    return Table(head, rows, words=frozenset({5}))


def shares(comparison: Comparison) -> Table:
    """Returns which models answered A's and B's requests."""
    rows = [
        (model or "not told", share(a), share(b))
        for model, (a, b) in comparison.share_by_model.items()
    ]
    return Table(("model", "of A", "of B"), rows, verbatim=frozenset({0}))


def points(sweep: SweepResult) -> Table:
    """Returns each rate that was tried, from the lowest."""
    head = ("started/s", "finished/s", "tokens/s", "TTFT p50", "TTFT p95", "ITL p95", "E2E p95")
    rows = [
        (
            f"{point.rate:.4g}",
            number(point.result.rates.requests_finished),
            number(point.result.rates.output_tokens),
            milliseconds(point.result.ttft_ms.p50 if point.result.ttft_ms else None),
            *(
                milliseconds(found.p95 if found else None)
                for found in (point.result.ttft_ms, point.result.itl_ms, point.result.e2e_ms)
            ),
            "yes" if point.meets_slo else "no",
            point.because,
        )
        for point in sorted(sweep.points, key=lambda point: point.rate)
    ]
    return Table((*head, "SLO met", "because"), rows, words=frozenset({7, 8}))


def found(sweep: SweepResult) -> str:
    """Says in one sentence what the sweep was for."""
    slo = " and ".join(sweep.slo)
    if sweep.highest_rate is None:
        answer = f"No rate that was tried meets {slo}"
    else:
        answer = f"Up to {sweep.highest_rate:.4g} conversations per second meet {slo}"
    return answer + (f"; the knee is at {sweep.knee:.4g}/s" if sweep.knee is not None else "")


def _value(name: str, value: float) -> str:
    metric = name.partition(".")[0]
    if metric in LATENCIES:
        return milliseconds(value)
    if metric == "cost" or metric.startswith("usd_"):
        return usd(value)
    return share(value) if metric in SHARES else number(value)


def _interval(ends: tuple[float, float] | None) -> str:
    return " to ".join(map(percent, ends)) if ends else "too few pairs"
