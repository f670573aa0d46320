"""A process that is killed while it notes records loses none that `note` had returned for."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from turnout.usage.ledger import DiskLedger
from turnout.usage.writer import Pace

# Notes records for ever and tells of each, after it was noted; no database is ever there.
NOTES_FOR_EVER = """
import asyncio, itertools, sys
from pathlib import Path
from turnout.usage.journal import JournalBounds
from turnout.usage.ledger import DiskLedger
from turnout.usage.record import UsageRecord

async def refuse(_records):
    raise ConnectionRefusedError

async def main():
    ledger = DiskLedger(Path(sys.argv[1]), "killed", refuse, JournalBounds(segment_bytes=20_000))
    ledger.start()
    for number in itertools.count():
        ledger.note(UsageRecord(
            id=f"r{number}", at_s=1.0, team="t", key_id="k", endpoint="chat", model="m",
            market="spot", status=200, completion_tokens=number,
        ))
        print(number, flush=True)
        if number % 50 == 0:
            await asyncio.sleep(0)

asyncio.run(main())
"""


@pytest.fixture
def killed(tmp_path: Path) -> int:
    """Returns the last number that a process told before it was killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", NOTES_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout as told:
        lines = [next(told) for _ in range(1000)]
        os.kill(process.pid, signal.SIGKILL)
        lines += told.readlines()
    assert process.wait(20) == -signal.SIGKILL
    return int(lines[-1]) if lines[-1].endswith("\n") else int(lines[-2])


async def test_every_record_of_a_killed_process_is_stored_by_the_next(
    tmp_path: Path, killed: int, memory: Any
) -> None:
    assert (tmp_path / "killed").is_dir()
    ledger = DiskLedger(tmp_path, "next", memory.insert, pace=Pace(interval_s=0.01)).start()
    async with asyncio.timeout(60):
        while (tmp_path / "killed").exists():
            await asyncio.sleep(0.01)
    await ledger.stop()
    kept = sorted(record.completion_tokens for record in memory.rows.values())
    # The one after the last it told of may have been noted before it could tell.
    assert kept in (list(range(killed + 1)), list(range(killed + 2)))
    assert ledger.tally.torn == 0


async def test_a_restarted_process_with_the_same_name_stores_its_own_leftovers(
    tmp_path: Path, killed: int, memory: Any
) -> None:
    ledger = DiskLedger(tmp_path, "killed", memory.insert, pace=Pace(interval_s=0.01)).start()
    async with asyncio.timeout(60):
        while ledger.backlog_bytes:
            await asyncio.sleep(0.01)
    await ledger.stop()
    assert len(memory.rows) in (killed + 1, killed + 2)
