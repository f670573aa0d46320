"""Files and batches as the database lists, counts and forgets them."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.batches.batch import Batch
from turnout.batches.file import File
from turnout.store.batches import (
    batch_of,
    cancel,
    count_live,
    insert_batch,
    list_batches,
    live_batches,
)
from turnout.store.engine import writing
from turnout.store.files import (
    Page,
    batch_using,
    delete_expired,
    delete_file,
    file_of,
    insert_file,
    known_files,
    list_files,
    team_bytes,
)

FILE = File("file-0", "t", "k", "batch", "Grüße 🙂.jsonl", 2**40, 100.0, 1000.0)
BATCH = Batch("b0", "t", "k", "/v1/completions", "file-0", {"a": "\x00"}, 100.0, 1000.0)


async def _fill(store: AsyncEngine) -> None:
    """Adds five files of one team (two of one moment) and one of another."""
    moments = [100.0, 101.0, 102.0, 102.0, 103.0]
    async with writing(store) as connection:
        for n, at_s in enumerate(moments):
            await insert_file(connection, replace(FILE, id=f"file-{n}", created_at_s=at_s))
        await insert_file(connection, replace(FILE, id="file-x", team="u"))


async def test_a_file_is_kept_as_it_is(store: AsyncEngine) -> None:
    await _fill(store)
    assert await file_of(store, "t", "file-0") == FILE
    assert await file_of(store, "u", "file-0") is None
    assert await team_bytes(store, "t") == 5 * 2**40
    assert await team_bytes(store, "nobody") == 0


async def test_pages_of_files_have_each_once(store: AsyncEngine) -> None:
    await _fill(store)

    async def names(page: Page) -> list[str]:
        return [file.id for file in await list_files(store, "t", page)]

    assert await names(Page(3)) == ["file-4", "file-3", "file-2"]
    assert await names(Page(3, "file-2")) == ["file-1", "file-0"]
    assert await names(Page(3, order="asc")) == ["file-0", "file-1", "file-2"]
    assert await names(Page(3, "file-2", "asc")) == ["file-3", "file-4"]
    assert await names(Page(3, "file-x")) == []
    assert await names(Page(3, purpose="batch_output")) == []


async def test_a_file_that_is_read_outlives_its_time(store: AsyncEngine) -> None:
    await _fill(store)
    await insert_batch(store, replace(BATCH, input_file_id="file-2"))
    assert await batch_using(store, "file-2") == "b0"
    assert await batch_using(store, "file-1") is None
    assert await delete_expired(store, 999.9) == []
    gone = await delete_expired(store, 1000.0)
    assert sorted(gone) == ["file-0", "file-1", "file-3", "file-4", "file-x"]
    assert await known_files(store, [*gone, "file-2"]) == {"file-2"}
    await delete_file(store, "file-2")
    assert await known_files(store, ["file-2"]) == set()


async def test_a_batch_is_kept_as_it_is(store: AsyncEngine) -> None:
    errors = [{"code": "c", "line": 1, "message": "m\x00", "param": None}]
    told = replace(BATCH, errors=errors, status="failed", failed_at_s=5.0, worker="w")
    await insert_batch(store, told)
    assert await batch_of(store, "b0", "t") == told
    assert await batch_of(store, "b0", "u") is None


async def test_pages_of_batches_have_each_once(store: AsyncEngine) -> None:
    for n in range(4):
        await insert_batch(store, replace(BATCH, id=f"b{n}", created_at_s=100.0 + n // 2))
    first = await list_batches(store, "t", 2)
    assert [each.id for each in first] == ["b3", "b2"]
    assert [each.id for each in await list_batches(store, "t", 9, "b2")] == ["b1", "b0"]
    assert await list_batches(store, "t", 9, "none") == []
    assert await list_batches(store, "u", 9) == []


async def test_a_batch_is_cancelled_only_while_it_can_be(store: AsyncEngine) -> None:
    await insert_batch(store, BATCH)
    await insert_batch(store, replace(BATCH, id="late", status="finalizing"))
    await insert_batch(store, replace(BATCH, id="over", status="completed"))
    assert await count_live(store, "t") == 2
    assert await live_batches(store, ["b0", "late", "over", "none"]) == {"b0", "late"}
    for name in ("b0", "late", "over"):
        await cancel(store, name, 200.0)
    found = [await batch_of(store, name) for name in ("b0", "late", "over")]
    assert [each and each.status for each in found] == ["cancelling", "finalizing", "completed"]
