from __future__ import annotations

from dataclasses import replace

from turnout_load.metrics.groups import groups
from turnout_load.record import Record
from turnout_load.records import Records


def records(*some: Record) -> Records:
    kept = Records()
    for record in some:
        kept.append(record)
    return kept


def test_requests_are_grouped_by_team_and_priority_as_a_mix_names_them(
    streamed: Record, failed: Record
) -> None:
    urgent = replace(streamed, team="search", first_ns=streamed.intended_ns + 20_000_000)
    found = groups(
        records(
            urgent,
            replace(streamed, team="batch", priority=5),
            replace(failed, team="batch", priority=5),
            replace(streamed, priority=0),
        )
    )
    assert list(found) == ["@0", "batch@5", "search"]
    assert (found["batch@5"].requests, found["batch@5"].failed) == (2, 1)
    assert found["search"].ttft_ms is not None
    assert found["batch@5"].ttft_ms is not None
    assert found["search"].ttft_ms.p50 == 20
    assert (found["batch@5"].ttft_ms.count, found["batch@5"].ttft_ms.p50) == (1, 50)


def test_a_run_without_a_mix_has_no_groups(streamed: Record) -> None:
    assert groups(records(streamed, streamed)) == {}
