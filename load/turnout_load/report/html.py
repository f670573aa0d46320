"""One self-contained page for a run, a sweep or a comparison: opens offline, prints, no script."""

from __future__ import annotations

from collections.abc import Sequence

from turnout_load.comparison import Comparison
from turnout_load.metrics.e2e import E2E
from turnout_load.metrics.metric import MS, Metric, S
from turnout_load.metrics.ttft import TTFT
from turnout_load.records import Records
from turnout_load.report import charts, differences, facts, gantt
from turnout_load.report.charts import STYLES
from turnout_load.report.curves import Point, Timeline, cdf, cdf_of, timeline
from turnout_load.report.headline import headlines, warnings, what_was_run
from turnout_load.report.markup import Element
from turnout_load.report.page import beside, figure, folded, note, page, section, table
from turnout_load.report.page import header as page_header
from turnout_load.report.page import headlines as cards
from turnout_load.report.table import Table
from turnout_load.report.units import milliseconds, number, seconds
from turnout_load.result import Distribution, Result
from turnout_load.sweep_result import SweepResult

COUNTED = (
    "Latencies count from the intended send time. Under a percentile stands its 95% confidence "
    "interval, where the sample is large enough for one."
)


def run_page(result: Result, records: Records) -> str:
    """Returns the page of one run."""
    measured = _measured(result, records)
    told = [f"{what_was_run(result.spec)}.", f"Started {result.started_at}."]
    return page(
        f"Load: {_target(result)}",
        page_header("Load run", _target(result), told, warnings(result)),
        cards(headlines(result)),
        section(
            "Latency",
            table(facts.latencies(result)),
            note(COUNTED),
            beside(*_distributions([result], [measured], [""])),
        ),
        *_over_time(result, records),
        section(
            "Throughput and cost",
            beside(
                table(facts.throughput(result)),
                table(facts.goodput(result)),
                table(facts.cost(result)),
            ),
        ),
        *_listed("Models", facts.models(result)),
        *_listed("Teams", facts.groups(result)),
        *_listed("Errors", facts.errors(result)),
        *_listed("Usage", facts.usage(result), note(facts.ON_USAGE)),
        *_slowest(result, measured),
        _conditions(result),
    )


def sweep_page(sweep: SweepResult) -> str:
    """Returns the page of a sweep."""
    runs = [(point.rate, point.result) for point in sweep.points]
    pictures = {
        "TTFT": charts.throughput_latency(runs, sweep.knee, "TTFT", lambda each: each.ttft_ms),
        "ITL": charts.throughput_latency(runs, sweep.knee, "ITL", lambda each: each.itl_ms),
        "E2E": charts.throughput_latency(runs, sweep.knee, "E2E", lambda each: each.e2e_ms),
    }
    keys = list(zip(STYLES, ("p50", "p95"), strict=True))
    shown = [figure(name, picture, keys) for name, picture in pictures.items() if picture]
    told = [f"{differences.found(sweep)}.", *(_target(each) for _, each in runs[:1])]
    last = [_conditions(each) for _, each in runs[-1:]]
    return page(
        "Load sweep",
        page_header("Load sweep", " and ".join(sweep.slo) or "Rates", told, sweep.notes),
        section("Latency over throughput", beside(*shown)),
        *_listed("Rates", differences.points(sweep)),
        *last,
    )


def comparison_page(comparison: Comparison, a_records: Records, b_records: Records) -> str:
    """Returns the page of a comparison, given the requests of all rounds of each side."""
    results = [comparison.a_result, comparison.b_result]
    both = [
        _measured(result, records)
        for result, records in zip(results, (a_records, b_records), strict=True)
    ]
    told = [
        f"A: {comparison.a}",
        f"B: {comparison.b}",
        f"{comparison.rounds} rounds in turn; {comparison.pairs:,} requests answered by both.",
    ]
    return page(
        "Load comparison",
        page_header("Load comparison", "A and B on the same requests", told, comparison.notes),
        section(
            "Differences",
            table(differences.metrics(comparison)),
            note("Of B from A, within pairs of the same request; bootstrap intervals."),
        ),
        section("Latency", beside(*_distributions(results, both, ["A", "B"]))),
        *_listed("Models", differences.shares(comparison)),
        *_listed("Latency of A", facts.latencies(results[0])),
        *_listed("Latency of B", facts.latencies(results[1])),
        _conditions(results[0]),
        section("Spec of B", table(facts.settings("spec", results[1].spec))),
    )


def _target(result: Result) -> str:
    target = result.spec.get("target", {})
    return f"{target.get('model', '')} at {target.get('url', '')}"


def _measured(result: Result, records: Records) -> Records:
    """Returns the requests after the warm-up."""
    warm_up_ns = result.spec.get("warm_up_s", 0.0) * S
    kept = records.where(each >= warm_up_ns for each in records.column("intended_ns"))
    kept.gaps.merge(records.gaps)
    return kept


def _distributions(
    results: Sequence[Result], records: Sequence[Records], names: Sequence[str]
) -> list[Element]:
    """Returns the CDFs of TTFT, ITL and E2E, a line for each run that has them."""
    found = [
        ("TTFT", [each.ttft_ms for each in results], [_cdf(TTFT, each) for each in records]),
        ("ITL", [each.itl_ms for each in results], list(map(_gaps, results, records))),
        ("E2E", [each.e2e_ms for each in results], [_cdf(E2E, each) for each in records]),
    ]
    shown = []
    for title, measured, curves in found:
        lines = {
            f"{name} {_percentiles(distribution)}".strip(): points
            for name, distribution, points in zip(names, measured, curves, strict=True)
            if points and distribution
        }
        if lines:
            of = "gaps" if title == "ITL" else "requests"
            keys = list(zip(STYLES, lines, strict=False))
            shown.append(figure(title, charts.cdf_chart(title, of, list(lines.values())), keys))
    return shown


def _cdf(metric: Metric, records: Records) -> list[Point]:
    values = (metric.of(record) for record in records if record.ok)
    return cdf(sorted(value for value in values if value is not None))


def _gaps(result: Result, records: Records) -> list[Point]:
    """Returns the CDF of all gaps, or what the result tells of it where the gaps were not kept."""
    return cdf(records.gaps.ordered(MS)) or (cdf_of(result.itl_ms) if result.itl_ms else [])


def _percentiles(found: Distribution) -> str:
    return f"p50 {milliseconds(found.p50)}, p95 {milliseconds(found.p95)}"


def _over_time(result: Result, records: Records) -> list[Element]:
    if not len(records):
        return []
    cut, warm_up_s = timeline(records), result.spec.get("warm_up_s", 0.0)
    ok_and_failed = list(zip(STYLES, ("ok", "failed"), strict=True))
    percentiles = list(zip(STYLES, ("p50", "p95"), strict=True))
    return [
        section(
            "Over time",
            figure("In flight, most at once", charts.in_flight_chart(cut, warm_up_s)),
            figure("Finished", charts.finished_chart(cut, warm_up_s), ok_and_failed),
            figure("TTFT by intended time", charts.ttft_chart(cut, warm_up_s), percentiles),
            folded(f"Figures for each {seconds(cut.width_s)}", _intervals(cut)),
        )
    ]


def _intervals(cut: Timeline) -> Table:
    rows = [
        (
            seconds(each.begin_s),
            f"{each.peak_in_flight:,}",
            number(each.ok_per_s),
            number(each.failed_per_s),
            *(milliseconds(value) for value in each.ttft_ms or (None, None)),
        )
        for each in cut.intervals
    ]
    return Table(("from", "in flight", "ok/s", "failed/s", "TTFT p50", "TTFT p95"), rows)


def _slowest(result: Result, measured: Records) -> list[Element]:
    slow = gantt.slowest(measured)
    if not slow:
        return []
    run_s = max(measured.column("intended_ns")) / S
    picture = gantt.gantt(slow, run_s)
    return [
        section(
            "Slowest requests",
            figure(f"The slowest {len(slow)} by E2E", picture, list(gantt.PHASES.items())),
            folded("The same as a table", gantt.table(slow)),
        )
    ]


def _listed(title: str, content: Table, *remarks: Element) -> list[Element]:
    return [section(title, table(content), *remarks)] if content.rows else []


def _conditions(result: Result) -> Element:
    return section(
        "Conditions",
        beside(
            table(facts.client(result)),
            table(facts.settings("environment", result.environment)),
            table(facts.settings("spec", result.spec)),
        ),
    )
