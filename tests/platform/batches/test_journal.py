"""The results of a batch on disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnout.batches.journal import Journal, Result, results_in


def result(n: int, ok: bool = True, text: str = "x") -> Result:
    return Result(n, ok, msgspec.Raw(msgspec.json.encode({"said": text})))


async def written(folder: Path, name: str, results: Sequence[Result]) -> None:
    async with Journal(folder, name) as journal:
        await asyncio.gather(*map(journal.add, results))


async def read(folder: Path) -> list[tuple[int, bool, bytes]]:
    return [(each.n, each.ok, bytes(each.line)) async for each in results_in(folder)]


async def test_results_come_back_as_they_were_kept(tmp_path: Path) -> None:
    await written(tmp_path, "a", [result(1), result(2, ok=False, text="ü\n")])
    found = sorted(await read(tmp_path))
    assert found == [(1, True, b'{"said":"x"}'), (2, False, '{"said":"ü\\n"}'.encode())]


async def test_a_torn_last_line_is_dropped(tmp_path: Path) -> None:
    await written(tmp_path, "a", [result(1), result(2)])
    path = tmp_path / "a.jsonl"
    path.write_bytes(path.read_bytes()[:-4])
    assert [n for n, *_ in await read(tmp_path)] == [1]


async def test_what_two_claims_did_counts_once(tmp_path: Path) -> None:
    await written(tmp_path, "a", [result(1, text="first")])
    await written(tmp_path, "b", [result(1, text="second"), result(2)])
    assert await read(tmp_path) == [(1, True, b'{"said":"first"}'), (2, True, b'{"said":"x"}')]


async def test_a_result_is_synced_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        sync(descriptor)
        synced.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fsync", noted)
    async with Journal(tmp_path, "a") as journal:
        await journal.add(result(1))
        assert synced == [(tmp_path / "a.jsonl").stat().st_size]


async def test_a_disk_that_refuses_is_told_to_everybody_who_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> Any:
        raise OSError(28, "No space left on device")

    async with Journal(tmp_path, "a") as journal:
        monkeypatch.setattr(os, "fsync", full)
        told = await asyncio.gather(
            *(journal.add(result(n)) for n in range(3)), return_exceptions=True
        )
        assert [type(each) for each in told] == [OSError] * 3


async def test_a_cancelled_write_ends_before_the_file_is_closed(tmp_path: Path) -> None:
    async with Journal(tmp_path, "a") as journal:
        task = asyncio.create_task(journal.add(result(1)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [n for n, *_ in await read(tmp_path)] == [1]
