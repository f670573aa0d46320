"""Lets what was begun at the database end before its task does."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
LONGEST_S = 5.0


async def settled(work: Coroutine[Any, Any, T]) -> T:
    """Returns what `work` returns; when cancelled meanwhile, ends once `work` did.

    A query that is cut off leaves its connection behind, with a thread of its own in SQLite's
    case. One that hangs is cut off all the same, `LONGEST_S` later.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,), timeout=LONGEST_S)
        raise
    finally:
        task.cancel()
