"""Both policies get the same requests; a priority is the arrival and what the length costs."""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import pytest

from turnout_load.bench.priority import (
    Ask,
    RequestFailed,
    log_of,
    main,
    mix,
    outcome,
    priority,
    replayed,
)
from turnout_load.bench.priority_table import Answer, rows
from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings
from turnout_load.spec import Workload
from turnout_load.workload.plan import build
from turnout_load.workload.work import Planned

ASKS = [Ask(1500, "long"), Ask(2250, "short")]
FCFS = [
    Answer("short", 1.0, 2.0, 2.0),
    Answer("short", 3.0, 4.0, 5.0),
    Answer("long", 8.0, 12.0, 14.0),
]
PRIORITY = [
    Answer("short", 0.5, 1.0, 1.0),
    Answer("short", 0.5, 2.0, 3.0),
    Answer("long", 11.0, 15.0, 16.0),
]


def test_a_short_request_passes_a_long_one_of_less_than_22_seconds_before_it() -> None:
    long = priority(Ask(0, "long"), token_ms=250)  # 96 tokens: 24,000
    assert priority(Ask(21_999, "short"), token_ms=250) < long  # 21,999 + 8 tokens: 23,999
    assert priority(Ask(22_001, "short"), token_ms=250) > long


def test_the_mix_is_the_seeds_and_keeps_to_rate_duration_and_share() -> None:
    asks = mix(rate=5.0, duration_s=400.0, short_share=0.8, seed=3)
    assert asks == mix(rate=5.0, duration_s=400.0, short_share=0.8, seed=3)
    assert asks != mix(rate=5.0, duration_s=400.0, short_share=0.8, seed=4)
    assert 1800 < len(asks) < 2200  # 2,000 expected, with a deviation of 45
    assert 0.75 < sum(ask.kind == "short" for ask in asks) / len(asks) < 0.85
    assert all(before.at_ms <= after.at_ms < 400_000 for before, after in pairwise(asks))


def planned(tmp_path: Path, policy: str) -> list[Planned]:
    log = tmp_path / f"{policy}.jsonl"
    log.write_bytes(log_of(ASKS, policy, token_ms=10))
    return list(build(Workload(trace=f"log:{log}"), 0, None, None).plan.planned(0, 1))


def test_both_policies_get_the_same_requests_but_for_their_priorities(tmp_path: Path) -> None:
    fcfs, by_priority = planned(tmp_path, "fcfs"), planned(tmp_path, "priority")
    for sent in (fcfs, by_priority):
        assert [each.offset_ns for each in sent] == [0, 750_000_000]
        assert [each.conversation.team for each in sent] == ["long", "short"]
        assert [each.conversation.turns[0].max_tokens for each in sent] == [96, 8]
    fcfs_turns, priority_turns = (
        [each.conversation.turns for each in sent] for sent in (fcfs, by_priority)
    )
    assert fcfs_turns == priority_turns
    assert [each.conversation.priority for each in fcfs] == [None, None]
    assert [each.conversation.priority for each in by_priority] == [2460, 2330]


def test_answers_are_measured_by_kind(tmp_path: Path) -> None:
    log = tmp_path / "priority.jsonl"
    log.write_bytes(log_of([Ask(0, "long"), Ask(20, "short")], "priority", token_ms=10))
    with started(MockSettings(ttft_ms=50, itl_ms=1, tokens=3)) as address:
        answers = replayed(address, log, "priority", seed=1)
    assert sorted(answer.kind for answer in answers) == ["long", "short"]
    assert all(0 < answer.ttft_s <= answer.e2e_s for answer in answers)


def test_a_request_that_fails_ends_the_measurement(tmp_path: Path) -> None:
    log = tmp_path / "fcfs.jsonl"
    log.write_bytes(log_of(ASKS[:1], "fcfs", token_ms=10))
    with pytest.raises(RequestFailed, match="a request to the fcfs engine failed: connect"):
        replayed("http://127.0.0.1:1", log, "fcfs", seed=1)


def test_the_table_has_both_policies_figures_and_their_ratio() -> None:
    table = {row[0]: row[1:] for row in rows(FCFS, PRIORITY)}
    assert table["all: mean TTFT, s"] == [3, 4.0, 4.0, 1.0]
    assert table["short: mean TTFT, s"] == [2, 2.0, 0.5, 0.25]
    assert table["short: p95 TTFT, s"] == [2, pytest.approx(2.9), 0.5, pytest.approx(0.5 / 2.9)]
    assert table["short: mean E2E, s"] == [2, 3.0, 1.5, 0.5]
    assert table["long: mean E2E, s"] == [1, 12.0, 15.0, 1.25]
    assert table["long: longest TTFT, s"] == [1, 8.0, 11.0, 1.375]
    assert len(table) == 13


def test_a_kind_that_nobody_asked_for_has_no_figures() -> None:
    table = {row[0]: row[1:] for row in rows(FCFS[:2], PRIORITY[:2])}
    assert table["long: longest TTFT, s"] == [0, None, None, None]
    assert table["all: mean TTFT, s"] == [2, 2.0, 0.5, 0.25]


def test_the_outcome_says_how_overloaded_the_engine_was() -> None:
    options = argparse.Namespace(
        rate=1.0, duration=3.0, short_share=0.8, places=4, token_ms=250, rounds=2, seed=7, threads=1
    )
    made = outcome(options, [{"fcfs": FCFS, "priority": PRIORITY}] * 2)
    assert "asked for 1/s, answered 0.21/s" in made.notes[0]  # 6 in 28 s
    assert "up to 22 s before it" in made.notes[1]
    assert {len(row) for row in made.rows} == {len(made.columns)}
    assert made.rows[0][1] == 6


def test_missing_weights_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--weights", str(tmp_path)])
    assert capsys.readouterr().err.count("\n") == 1
