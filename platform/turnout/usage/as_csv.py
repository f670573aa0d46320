"""Reports and records as CSV (RFC 4180, with a header line)."""

import csv
import io
from collections.abc import AsyncIterator, Iterable

import msgspec

from turnout.usage.record import UsageRecord
from turnout.usage.report import Report, as_rows

RECORD_COLUMNS = UsageRecord.__struct_fields__
LINES_AT_ONCE = 500


def report_csv(report: Report) -> str:
    """Returns a report's lines."""
    start = () if report.question.bucket is None else ("start",)
    columns = (*start, *report.question.by, *_SUMS)
    return _lines([columns, *([row[name] for name in columns] for row in as_rows(report))])


_SUMS = (
    *("requests", "prompt_tokens", "cached_tokens", "completion_tokens"),
    *("list_cost_usd", "true_cost_usd"),
)


async def records_csv(records: AsyncIterator[UsageRecord]) -> AsyncIterator[str]:
    """Yields records as they come, some hundred lines at a time."""
    rows: list[Iterable[object]] = [RECORD_COLUMNS]
    async for record in records:
        rows.append(msgspec.structs.astuple(record))
        if len(rows) >= LINES_AT_ONCE:
            yield _lines(rows)
            rows = []
    yield _lines(rows)


def _lines(rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
