"""From disk to database: in batches, exactly once, whatever fails in between."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from turnout.usage.journal import JournalBounds
from turnout.usage.ledger import DiskLedger
from turnout.usage.record import UsageRecord
from turnout.usage.writer import Pace, RecordsRefused

RecordOf = Callable[..., UsageRecord]
FAST = Pace(interval_s=0.01, first_wait_s=0.01, longest_wait_s=0.05, leftovers_every_s=0.05)
SMALL = JournalBounds(segment_bytes=2000)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def ledger(root: Path, insert: Any, process: str = "gw") -> AsyncIterator[DiskLedger]:
    opened = DiskLedger(root, process, insert, SMALL, FAST).start()
    try:
        yield opened
    finally:
        await opened.stop()


async def test_every_record_arrives_once_in_batches(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    async with ledger(tmp_path, memory.insert) as kept:
        for _ in range(500):
            kept.note(record_of())
        await until(lambda: kept.tally.stored == 500)
    assert list(memory.rows) == [f"r{number}" for number in range(500)]
    assert memory.calls < 200
    assert list(tmp_path.iterdir()) == []


async def test_what_comes_while_records_are_written_waits_for_the_next_time(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    async def insert(records: Sequence[UsageRecord]) -> int:
        for _ in range(3):
            kept.note(record_of())
        return int(await memory.insert(records))

    kept = DiskLedger(tmp_path, "gw", insert, pace=Pace(interval_s=0.05))
    kept.note(record_of())
    begun_s = time.monotonic()
    kept.start()
    await until(lambda: memory.calls == 4)
    assert time.monotonic() - begun_s > 0.15
    await kept.stop(within_s=0.1)


async def test_a_database_that_is_down_loses_nothing_and_stops_nobody(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    memory.fails = [ConnectionRefusedError(), TimeoutError(), OSError("the network")] * 3
    async with ledger(tmp_path, memory.insert) as kept:
        for _ in range(50):
            kept.note(record_of())
            await asyncio.sleep(0.001)
        await until(lambda: len(memory.rows) == 50)
    assert kept.tally.failures == 9
    assert kept.tally.stored == 50
    assert kept.backlog_bytes == 0


async def test_a_commit_whose_answer_was_lost_counts_once(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    memory.fails, memory.loses_answer = [ConnectionResetError()], True
    async with ledger(tmp_path, memory.insert) as kept:
        kept.note(record_of())
        await until(lambda: kept.tally.known == 1)
    assert (kept.tally.stored, kept.tally.failures) == (0, 1)
    assert len(memory.rows) == 1


async def test_a_slow_database_is_given_up_and_tried_again(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    async def insert(records: Any) -> int:
        if not memory.calls:
            memory.calls += 1
            await asyncio.Event().wait()
        return int(await memory.insert(records))

    pace = Pace(interval_s=0.01, insert_timeout_s=0.1, first_wait_s=0.01)
    kept = DiskLedger(tmp_path, "gw", insert, SMALL, pace).start()
    kept.note(record_of())
    await until(lambda: kept.tally.stored == 1)
    assert kept.tally.failures == 1
    await kept.stop()


async def test_a_record_that_the_database_refuses_is_set_aside_and_stops_no_other(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    async def insert(records: Any) -> int:
        if any(record.team == "bad" for record in records):
            raise RecordsRefused("DataError")
        return int(await memory.insert(records))

    async with ledger(tmp_path, insert) as kept:
        for number in range(40):
            kept.note(record_of(team="bad" if number in (7, 8, 31) else "good"))
        await until(lambda: kept.tally.stored == 37)
    assert kept.tally.refused == 3
    lines = (tmp_path / "refused.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["r7", "r8", "r31"]


async def test_what_a_dead_process_left_is_written_and_its_folder_removed(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    dead = DiskLedger(tmp_path, "dead", memory.insert, SMALL)
    for _ in range(30):
        dead.note(record_of())
    dead._journal.close()  # as the operating system does for a process that ends
    async with ledger(tmp_path, memory.insert, "alive"):
        await until(lambda: not (tmp_path / "dead").exists())
    assert len(memory.rows) == 30


async def test_a_running_process_keeps_its_folder_to_itself(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    other = DiskLedger(tmp_path, "other", memory.insert, SMALL)
    other.note(record_of())
    async with ledger(tmp_path, memory.insert, "this") as kept:
        kept.note(record_of())
        await until(lambda: kept.tally.stored == 1)
        await kept._writer.replay_leftovers()
    assert list(memory.rows) == ["r1"]
    other._journal.close()


async def test_leftovers_replayed_twice_count_once(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    """Killed between the commit and the deletion of the segment: the next process writes again."""
    dead = DiskLedger(tmp_path, "dead", memory.insert, SMALL)
    for _ in range(5):
        dead.note(record_of())
    dead._journal.close()
    saved = {path: path.read_bytes() for path in (tmp_path / "dead").glob("*.jsonl")}
    async with ledger(tmp_path, memory.insert, "alive") as kept:
        await until(lambda: not (tmp_path / "dead").exists())
        (tmp_path / "dead").mkdir()
        for path, data in saved.items():
            path.write_bytes(data)
        await until(lambda: not (tmp_path / "dead").exists())
    assert len(memory.rows) == 5
    assert (kept.tally.stored, kept.tally.known) == (5, 5)


async def test_a_stopped_ledger_leaves_on_disk_what_the_database_does_not_take(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    memory.fails = [ConnectionRefusedError()] * 10_000
    async with ledger(tmp_path, memory.insert) as kept:
        for _ in range(3):
            kept.note(record_of())
    assert not memory.rows
    memory.fails = []
    async with ledger(tmp_path, memory.insert, "next"):
        await until(lambda: len(memory.rows) == 3)


async def test_metrics_tell_what_became_of_records(
    tmp_path: Path, record_of: RecordOf, memory: Any
) -> None:
    memory.fails = [ConnectionRefusedError()]
    async with ledger(tmp_path, memory.insert) as kept:
        kept.note(record_of())
        await until(lambda: kept.tally.stored == 1)
        samples = {
            (sample.name, *sample.labels.values()): sample.value
            for family in kept.collect()
            for sample in family.samples
        }
    assert samples["turnout_usage_records_total", "noted"] == 1
    assert samples["turnout_usage_records_total", "stored"] == 1
    assert samples["turnout_usage_store_failures_total",] == 1
    assert samples["turnout_usage_backlog_bytes",] == 0


@pytest.mark.parametrize("name", ["notes.txt", "refused.jsonl"])
async def test_files_beside_the_folders_are_left_alone(
    tmp_path: Path, record_of: RecordOf, memory: Any, name: str
) -> None:
    (tmp_path / name).write_text("x")
    async with ledger(tmp_path, memory.insert) as kept:
        kept.note(record_of())
        await until(lambda: kept.tally.stored == 1)
    assert (tmp_path / name).read_text() == "x"
    assert kept.tally.failures == 0
