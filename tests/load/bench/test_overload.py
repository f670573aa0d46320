"""The overload benchmark: what counts as in time, and a run of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turnout_load.bench import overload
from turnout_load.bench.overload import CASES, Case, Measured, main, outcome, parsed, quarters, rows
from turnout_load.bench.overload_system import PER_S, deployment
from turnout_load.record import UNKNOWN, Record

S = 1_000_000_000


def record(ttft_s: float | None, status: int = 200, error: str = "") -> Record:
    first_ns = UNKNOWN if ttft_s is None else round((1 + ttft_s) * S)
    return Record(index=0, intended_ns=S, first_ns=first_ns, status=status, error=error)


def test_the_replicas_give_so_many_answers_a_second() -> None:
    """16 places; an answer takes 100 ms and 39 times 25 ms: 16 / 1.075 s."""
    assert pytest.approx(14.88, abs=0.01) == PER_S


def test_a_request_counts_where_its_first_token_came_by_the_deadline() -> None:
    records = [
        *(record(0.5), record(1.0), record(1.001)),
        *(record(None, 429, "http"), record(None, 503, "http")),
        *(record(None, 500, "http"), record(0.1, 200, "closed")),
    ]
    (row,) = rows(Case("3x", {"normal": 3}), Measured({"normal": records}, 2.0, [9, 8]), 1000)
    assert row[:6] == ["3x", 3.5, 1.0, 0.5, 1.0, 2]
    assert row[6] == 1000.0
    assert row[8] == "9 / 8"


def test_priorities_have_a_row_each() -> None:
    both = {"interactive": [record(0.1)], "normal": [record(0.9)]}
    table = rows(Case("3x", {"interactive": 1, "normal": 2}), Measured(both, 1.0), 1000)
    assert [row[0] for row in table] == ["3x: interactive", "3x: normal"]


def test_a_quarter_is_its_highest_value() -> None:
    assert quarters([1, 5, 2, 2, 3, 1, 7, 4]) == [5, 2, 3, 7]
    assert quarters([3, 4]) == [3, 4]
    assert quarters([]) == []


def test_only_a_bounded_gateway_knows_of_places() -> None:
    bounded = deployment(["http://a"], is_bounded=True, most_waiting=3)
    assert bounded["replicas"][0]["max_running"] == 8
    unbounded = deployment(["http://a"], is_bounded=False, most_waiting=3)
    assert "max_running" not in unbounded["replicas"][0]


def test_the_outcome_tells_the_share_that_three_times_the_load_keeps() -> None:
    results = {
        "1x": Measured({"normal": [record(0.1)] * 40}, 1.0),
        "3x": Measured({"normal": [record(0.1)] * 38}, 1.0),
    }
    assert "In time at 3x: 95% of that at 1x." in outcome(parsed([]), results).notes[0]


@pytest.mark.slow
def test_it_measures_a_real_gateway_over_real_replicas(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(overload, "CASES", CASES[:2])
    out = tmp_path / "out.json"
    main(["--duration", "3", "--warm-up", "1", "--out", str(out)])
    table = json.loads(out.read_text())["rows"]
    assert [row[0] for row in table] == ["1x", "3x"]
    assert all(row[2] > 0 for row in table)
