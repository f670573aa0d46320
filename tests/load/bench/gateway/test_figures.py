from __future__ import annotations

import json

import msgspec
import pytest

from turnout_load.bench.gateway.driver import Run, run_of
from turnout_load.bench.gateway.figures import added_ms, figures, summary
from turnout_load.bench.gateway.rounds import Pair
from turnout_load.bench.gateway.table import COLUMNS, details, rows
from turnout_load.record import Record
from turnout_load.records import Records


def run(*e2e_ms: float, answered: int = 10, chunks: int = 0, failures: int = 0) -> Run:
    return Run(e2e_ms, answered, chunks, 2.0, ("http 500: no",) * failures)


def pair(direct: Run, through: Run, cpu_s: float = 0.5, rss_mb: float = 100) -> Pair:
    return Pair(direct, through, {"server": cpu_s}, {"server": rss_mb - 10, "worker": 10})


PAIRS = [
    pair(run(20, 21, 22), run(21, 22, 23), cpu_s=0.25, rss_mb=90),  # 1 more
    pair(run(20, 20, 20), run(25, 25, 25), cpu_s=0.25, rss_mb=110),  # 5 more
    pair(run(30, 31, 32), run(32, 33, 34, failures=2), cpu_s=1.0),  # 2 more, on a slower round
]


def test_what_a_system_adds_is_the_median_of_the_rounds_own_differences() -> None:
    # medians of all rounds thrown together (25 against 21) would say 4
    assert added_ms(PAIRS, 0.5) == 2


def test_p99_is_added_as_the_rounds_p99_differ() -> None:
    slow = [float(each) for each in range(101)]
    assert added_ms([pair(run(*[0.0] * 101), run(*slow))], 0.99) == 99


def test_cpu_time_is_of_all_requests_and_memory_the_most() -> None:
    found = figures(PAIRS)
    assert found.cpu_s_per_1000 == 50  # 1.5 s for 30 requests
    assert found.rss_mb == 110
    assert found.failed == 2


def test_rates_are_medians_of_the_rounds() -> None:
    rates = [run(answered=answered, chunks=64 * answered) for answered in (4, 10, 30)]
    found = figures([pair(run(), each) for each in rates])
    assert (found.rps, found.tokens_per_s) == (5, 320)
    assert found.added_p50_ms is None


def test_a_system_that_answered_nothing_has_no_cpu_time_a_request() -> None:
    assert figures([pair(run(1), run(answered=0))]).cpu_s_per_1000 is None


def test_the_short_json_has_the_figures_that_goals_are_set_for() -> None:
    of_loads = {load: figures(PAIRS) for load in ("c1", "c4", "c64", "c256", "stream_c256")}
    assert json.loads(json.dumps(summary({"direct": of_loads, "turnout": {}}))) == {
        "systems": {
            "direct": {
                "c1": {"added_p50_ms": 2, "added_p99_ms": pytest.approx(2)},
                "c64": {"rps": 5, "cpu_s_per_1000": 50, "rss_mb": 110},
                "stream_c256": {"tokens_per_s": 0},
            },
            "turnout": {},
        }
    }


def test_the_table_has_a_row_for_each_system_and_load() -> None:
    made = rows({"turnout": {"c64": figures(PAIRS), "stream_c256": figures(PAIRS)}})
    assert [row[:2] for row in made] == [["turnout", "64"], ["turnout", "256, streamed"]]
    assert {len(row) for row in made} == {len(COLUMNS)}


def test_the_details_are_json_and_name_a_rounds_processes() -> None:
    told = json.loads(msgspec.json.encode(details({"turnout": {"c1": PAIRS}})))
    assert told["turnout"]["c1"][2]["cpu_s"] == {"server": 1.0}
    assert told["turnout"]["c1"][2]["through"]["failures"] == ["http 500: no"]


def test_a_runs_latencies_leave_out_the_time_when_connections_open() -> None:
    records = Records()
    for intended_ms, end_ms, error in ((0, 90, ""), (400, 425, ""), (500, 2000, "closed")):
        records.append(
            Record(
                0,
                intended_ns=intended_ms * 10**6,
                end_ns=end_ms * 10**6,
                chunks=3,
                error=error,
                detail="gone" if error else "",
            )
        )
    assert run_of(records) == Run((25.0,), 2, 6, 2.0, ("closed: gone",))
