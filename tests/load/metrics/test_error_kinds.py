from __future__ import annotations

from dataclasses import replace

from turnout_load.metrics.error_kinds import error_kinds
from turnout_load.record import Record
from turnout_load.result import ErrorKind


def test_kinds_are_counted_the_most_frequent_first_with_an_example(failed: Record) -> None:
    stalled = replace(failed, error="stalled", detail="silent for 120 s")
    wordless = replace(failed, detail="")
    kinds = error_kinds([stalled, wordless, failed, replace(failed, detail="another")])
    assert list(kinds) == ["http 429", "stalled"]
    assert kinds["http 429"] == ErrorKind(count=3, example="too many requests")
    assert kinds["stalled"] == ErrorKind(count=1, example="silent for 120 s")


def test_a_run_without_failures_has_no_kinds() -> None:
    assert error_kinds([]) == {}
