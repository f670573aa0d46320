"""The files that a command leaves; raises `BadData` where they cannot be written.

What was measured is written before it is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import msgspec

from turnout_load.comparison import Comparison
from turnout_load.errors import BadData
from turnout_load.records import Records
from turnout_load.report.html import comparison_page, run_page, sweep_page
from turnout_load.report.markdown import comparison_summary, run_summary, sweep_summary
from turnout_load.report.requests_csv import write_csv
from turnout_load.result import Result
from turnout_load.sweep_result import SweepResult


def prepare(folder: Path) -> None:
    """Makes the folder and a file in it, so that nothing is measured that cannot be written."""
    with _written(folder):
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()


def write_run(folder: Path, result: Result, records: Records, more: str = "") -> str:
    """Writes `result.json`, `requests.csv`, `report.html`, `summary.md`; returns the summary."""
    with _written(folder):
        _write_figures(folder / "result.json", result)
        _write_requests(folder / "requests.csv", records)
        summary = run_summary(result) + more
        _write_report(folder, run_page(result, records), summary)
    return summary


def write_sweep(folder: Path, found: SweepResult) -> str:
    """Writes `sweep.json`, `report.html` and `summary.md`; returns the summary."""
    with _written(folder):
        _write_figures(folder / "sweep.json", found)
        summary = sweep_summary(found)
        _write_report(folder, sweep_page(found), summary)
    return summary


def write_comparison(folder: Path, found: Comparison, of_a: Records, of_b: Records) -> str:
    """Writes `comparison.json`, both sides' requests, report and summary; returns the summary."""
    with _written(folder):
        _write_figures(folder / "comparison.json", found)
        _write_requests(folder / "requests-a.csv", of_a)
        _write_requests(folder / "requests-b.csv", of_b)
        summary = comparison_summary(found)
        _write_report(folder, comparison_page(found, of_a, of_b), summary)
    return summary


def _write_figures(path: Path, found: msgspec.Struct) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    encoded = msgspec.json.format(msgspec.json.encode(found), indent=2)
    path.write_bytes(encoded + b"\n")


def _write_report(folder: Path, page: str, summary: str) -> None:
    (folder / "report.html").write_text(page, encoding="utf-8")
    (folder / "summary.md").write_text(summary, encoding="utf-8")


def _write_requests(path: Path, records: Records) -> None:
    with path.open("w", newline="", encoding="utf-8") as out:
        write_csv(records, out)


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise BadData(str(folder), None, f"the results cannot be written: {problem}") from None
