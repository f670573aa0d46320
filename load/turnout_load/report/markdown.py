"""Summaries to paste into a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable

from turnout_load.comparison import Comparison
from turnout_load.report import differences, facts
from turnout_load.report.headline import warnings, what_was_run
from turnout_load.report.table import Table
from turnout_load.result import Result
from turnout_load.sweep_result import SweepResult

COLUMNS = ("ms", "p50", "p95", "p99", "mean", "of")
"""Those of the percentiles that a summary has room for."""


def run_summary(result: Result) -> str:
    """Returns a run as a short page: what was run, what came out, and what to be wary of."""
    target = result.spec.get("target", {})
    shown = [
        facts.throughput(result),
        facts.goodput(result),
        facts.cost(result),
        facts.models(result),
        facts.groups(result),
        facts.errors(result),
    ]
    usage = facts.usage(result)
    return _page(
        f"Load: {_code(target.get('model', ''))} at {_code(target.get('url', ''))}",
        [
            f"{_text(what_was_run(result.spec))}. Started {_text(result.started_at)}.",
            _warnings(warnings(result)),
            _table(_narrow(facts.latencies(result))),
            "Latencies count from the intended send time; 95% confidence intervals in parentheses.",
            *(_table(each) for each in shown if each is not None),
            _table(usage),
            facts.ON_USAGE if usage.rows else "",
            _client(result),
        ],
    )


def sweep_summary(sweep: SweepResult) -> str:
    """Returns a sweep as a short page."""
    return _page(
        "Load sweep",
        [
            f"**{_text(differences.found(sweep))}.**",
            _warnings(sweep.notes),
            _table(differences.points(sweep)),
        ],
    )


def comparison_summary(comparison: Comparison) -> str:
    """Returns a comparison as a short page."""
    return _page(
        "Load comparison",
        [
            f"A: {_code(comparison.a)}, B: {_code(comparison.b)}; {comparison.rounds} rounds in "
            f"turn, {comparison.pairs:,} requests answered by both.",
            _warnings(comparison.notes),
            _table(differences.metrics(comparison)),
            _table(differences.shares(comparison)),
        ],
    )


def _page(title: str, parts: Iterable[str]) -> str:
    whole = "\n\n".join((f"## {title}", *filter(None, parts))) + "\n"
    return whole.encode("utf-8", "replace").decode()  # half of a surrogate pair is no text


def _narrow(table: Table) -> Table:
    places = [table.head.index(name) for name in COLUMNS]
    return Table(COLUMNS, [tuple(row[place] for place in places) for row in table.rows])


def _client(result: Result) -> str:
    client = result.client
    kept_up = "" if client.is_bottleneck else "The client kept up: "
    return f"{kept_up}{_text(client.because)}."


def _warnings(notes: Iterable[str]) -> str:
    return "\n".join(f"> {_text(note)}" for note in notes)


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    marks = [
        "---" if place == 0 or place in table.words | table.verbatim else "---:"
        for place in range(len(table.head))
    ]
    lines = [table.head, tuple(marks), *(_cells(table, row) for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(table: Table, row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        _code(cell) if place in table.verbatim else _text(cell) for place, cell in enumerate(row)
    )


def _text(content: str) -> str:
    """Returns text in which nothing is read as Markdown or HTML."""
    return re.sub(r"([\\`*\[\]<|])", r"\\\1", " ".join(content.split()))


def _code(content: str) -> str:
    """Returns text as code, where a mention, a link or a tag stays what it is."""
    words = " ".join(content.split()).replace("`", "'").replace("|", "\\|")
    return f"`{words}`" if words else ""
