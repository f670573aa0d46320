"""Delayed hedging: the stream of the replica that begins first, of two where one is late."""

import asyncio
from collections.abc import Awaitable, Callable

from turnout.gateway.attempt import Attempt
from turnout.gateway.search import LOST, Lost


async def first_to_begin(
    first: Attempt,
    begin: Callable[[Attempt], Awaitable[None]],
    late_s: float,
    another: Callable[[], Attempt | None],
    failed: Callable[[Lost], None],
) -> Attempt:
    """Returns the attempt that began first; the other one is closed, which stops its engine.

    `another` is asked for a second attempt once the first is late. Raises what the last one
    raised where none begins; all are closed then, too.
    """
    tasks = {_started(begin, first): first}
    try:
        done, _ = await asyncio.wait(tasks, timeout=late_s)
        if not done and (second := another()) is not None:
            tasks[_started(begin, second)] = second
        while True:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            winner = next((task for task in done if task.exception() is None), None)
            if winner is not None:
                return tasks.pop(winner)
            await _drop(tasks, done.pop(), failed)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for attempt in tasks.values():
            await attempt.close()


async def _drop(
    tasks: dict[asyncio.Task[None], Attempt],
    task: asyncio.Task[None],
    failed: Callable[[Lost], None],
) -> None:
    """Goes on with the other attempt, or raises where this was the last one or a refusal."""
    error = task.exception()
    assert error is not None
    if not isinstance(error, LOST) or len(tasks) == 1:
        raise error
    failed(error)
    await tasks.pop(task).close()


def _started(begin: Callable[[Attempt], Awaitable[None]], attempt: Attempt) -> asyncio.Task[None]:
    async def run() -> None:
        await begin(attempt)

    return asyncio.create_task(run())
