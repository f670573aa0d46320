"""The dispatch benchmark: the same conversations for all policies, and a table that adds up."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from turnout_load.bench import dispatch
from turnout_load.bench.dispatch import POLICIES, main, outcome, parsed, rows
from turnout_load.bench.dispatch_system import FAST, deployment, replica_settings
from turnout_load.bench.dispatch_work import (
    PRODUCTS,
    SYSTEM_WORDS,
    conversations,
    write_conversations,
)
from turnout_load.record import Record

S = 1_000_000_000


def record(ttft_s: float, e2e_s: float, cached: int, error: str = "") -> Record:
    return Record(
        index=0,
        intended_ns=S,
        first_ns=round((1 + ttft_s) * S),
        end_ns=round((1 + e2e_s) * S),
        last_ns=round((1 + e2e_s) * S),
        input_tokens=100,
        cached_tokens=cached,
        output_tokens=2,
        error=error,
    )


def test_conversations_are_the_seeds() -> None:
    assert conversations(20, seed=3) == conversations(20, seed=3)
    assert conversations(20, seed=3) != conversations(20, seed=4)


def test_every_conversation_begins_with_one_of_the_products_system_prompts() -> None:
    systems = Counter(each["messages"][0]["content"] for each in conversations(2000, seed=1))
    assert len(systems) == PRODUCTS
    assert all(len(system.split()) == SYSTEM_WORDS for system in systems)
    most = systems.most_common()
    assert most[0][1] > 4 * most[-1][1]  # 12 times in expectation


def test_turns_end_with_a_question(tmp_path: Path) -> None:
    write_conversations(tmp_path / "c.jsonl", 50, seed=1)
    for line in (tmp_path / "c.jsonl").read_text().splitlines():
        roles = [each["role"] for each in json.loads(line)["messages"]]
        assert roles[0] == "system"
        assert roles[1::2] == ["user"] * len(roles[1::2])
        assert roles[-1] == "user"


def test_a_slower_replica_takes_longer_for_everything_and_keeps_as_much() -> None:
    slow = replica_settings(4)
    assert (slow.ttft_ms, slow.itl_ms) == (4 * FAST.ttft_ms, 4 * FAST.itl_ms)
    assert slow.prefill_ms_per_token == 4 * FAST.prefill_ms_per_token
    assert (slow.cache_tokens, slow.places) == (FAST.cache_tokens, FAST.places)


def test_the_gateways_file_lists_every_replica() -> None:
    file = deployment({"fast": "http://127.0.0.1:1", "slow": "http://127.0.0.1:2"})
    assert [each["id"] for each in file["replicas"]] == ["fast", "slow"]
    assert {each["model"] for each in file["replicas"]} == set(file["settings"]["models"])


def test_a_row_tells_percentiles_of_answers_failures_and_the_share_from_cache() -> None:
    records = [record(0.1, 1.0, 0), record(0.2, 2.0, 50), record(0.3, 3.0, 100)]
    (row,) = rows({"p": [*records, record(9.0, 9.0, 0, error="closed")]})
    assert row == ["p", 3, 1, 200.0, 290.0, 2000.0, 2900.0, "50.0%"]


def test_the_outcome_pools_all_rounds() -> None:
    names = [f"{policy}, 3/s" for policy in POLICIES]
    one = {name: [record(0.1, 1.0, 0)] for name in names}
    two = {name: [record(0.3, 3.0, 100)] for name in names}
    table = outcome(parsed(["--rounds", "2", "--rates", "3"]), [one, two])
    assert [row[:2] for row in table.rows] == [[name, 2] for name in names]
    assert [row[3] for row in table.rows] == [200.0] * 3
    assert len(table.details["rounds"]) == 2


def test_policies_take_turns_at_being_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[tuple[str, int]] = []

    def run(_options: object, _folder: Path, policy: str, _rate: float, seed: int) -> list[Record]:
        ran.append((policy, seed))
        return [record(0.1, 1.0, 0)]

    monkeypatch.setattr(dispatch, "run", run)
    main(["--rounds", "3", "--rates", "4", "--seed", "5", "--out", str(tmp_path / "out.json")])
    assert [policy for policy, _ in ran[::3]] == list(POLICIES)
    assert [seed for _, seed in ran] == [5, 5, 5, 6, 6, 6, 7, 7, 7]
    assert json.loads((tmp_path / "out.json").read_text())["seed"] == 5


@pytest.mark.slow
def test_it_measures_a_real_gateway_over_real_replicas(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    options = ("--rounds", "1", "--duration", "3", "--warm-up", "0", "--rates", "3")
    main([*options, "--out", str(out)])
    table = json.loads(out.read_text())["rows"]
    assert [row[0] for row in table] == [f"{policy}, 3/s" for policy in POLICIES]
    assert all(row[1] > 0 and row[2] == 0 for row in table)
