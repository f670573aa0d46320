"""What was begun at the database ends before its task does."""

from __future__ import annotations

import asyncio

import pytest

from turnout.batches import settled as module
from turnout.batches.settled import settled


async def test_what_was_begun_is_returned() -> None:
    assert await settled(asyncio.sleep(0, "said")) == "said"


async def test_a_cancelled_task_ends_after_what_it_began() -> None:
    may_end, events = asyncio.Event(), list[str]()

    async def query() -> None:
        await may_end.wait()
        events.append("query")

    task = asyncio.create_task(settled(query()))
    task.add_done_callback(lambda _: events.append("task"))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.sleep(0.01)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events == ["query", "task"]


async def test_what_hangs_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_S", 0.01)
    was_cut = asyncio.Event()

    async def query() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            was_cut.set()

    task = asyncio.create_task(settled(query()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await was_cut.wait()
