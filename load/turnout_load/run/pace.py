"""Waiting for a moment more exactly than the event loop's timers, which know milliseconds."""

from __future__ import annotations

import asyncio

from turnout_load.client.connection import now_ns

TIMER_NS = 1_500_000
"""How late a timer of uvloop may fire, with some to spare."""
CALM_NS = 15_000_000
"""Only where the next start is this far off may its last instants be spent on waiting busily."""


async def until(moment_ns: int) -> None:
    """Returns at `moment_ns`, or at once where it has passed; other tasks run meanwhile."""
    left_ns = moment_ns - now_ns()
    if left_ns <= 0:
        await asyncio.sleep(0)  # a sender that is behind still lets answers in
    else:
        early_ns = TIMER_NS if left_ns > CALM_NS else 0
        await asyncio.sleep((left_ns - early_ns) / 1e9)
        while now_ns() < moment_ns:  # a timer may also fire up to a millisecond early
            await asyncio.sleep(0)
