"""Failures by kind, the most frequent first, each with one example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from turnout_load.record import Record
from turnout_load.result import ErrorKind


def error_kinds(failed: Iterable[Record]) -> dict[str, ErrorKind]:
    """Counts failures by kind; the example is the first that said anything."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for record in failed:
        counts[record.error] += 1
        if record.detail:
            examples.setdefault(record.error, record.detail)
    return {
        kind: ErrorKind(count=count, example=examples.get(kind, ""))
        for kind, count in counts.most_common()
    }
