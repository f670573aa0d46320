from __future__ import annotations

import asyncio
from time import perf_counter_ns

from turnout_load.mock.pacer import Pacer

MS = 1_000_000


async def test_calls_come_in_the_order_of_their_times_and_never_early() -> None:
    pacer = Pacer(asyncio.get_running_loop())
    start_ns = perf_counter_ns()
    called: list[tuple[int, int]] = []
    last = asyncio.Event()
    for due_ms in (9, 3, 12, 6, 3):
        due_ns = start_ns + due_ms * MS
        pacer.at(due_ns, lambda due_ns=due_ns: called.append((due_ns, perf_counter_ns())))  # type: ignore[misc]
    pacer.at(start_ns + 20 * MS, last.set)
    await last.wait()
    assert [due_ns - start_ns for due_ns, _ in called] == [ms * MS for ms in (3, 3, 6, 9, 12)]
    assert all(at_ns >= due_ns for due_ns, at_ns in called)


async def test_a_call_may_ask_for_another_and_many_may_wait() -> None:
    pacer = Pacer(asyncio.get_running_loop())
    start_ns = perf_counter_ns()
    done = asyncio.Event()
    called: list[int] = []

    def again(number: int) -> None:
        called.append(number)
        if len(called) == 300:
            done.set()
        elif number < 3:
            pacer.at(start_ns + (number + 1) * 2 * MS, lambda: again(number + 1))

    for _ in range(100):
        pacer.at(start_ns + 2 * MS, lambda: again(1))
    await asyncio.wait_for(done.wait(), 10)
    assert called == sorted(called)


async def test_a_call_that_is_due_sooner_does_not_wait_for_one_that_is_due_later() -> None:
    pacer = Pacer(asyncio.get_running_loop())
    done = asyncio.Event()
    pacer.at(perf_counter_ns() + 60_000 * MS, lambda: None)
    pacer.at(perf_counter_ns() + MS, done.set)
    assert await asyncio.wait_for(done.wait(), 10)
