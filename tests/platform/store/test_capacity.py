"""Capacity in both databases: added up by hour and pool."""

from __future__ import annotations

import asyncio

from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.capacity import add_capacity, capacity_in
from turnout.usage.cost import Capacity, CapacityInHour, Pool

SPOT, LARGE = Pool("small", "spot"), Pool("large", "reserved")
DAY = 1_699_920_000  # 2023-11-14 00:00 UTC


def hour(number: int, pool: Pool = SPOT, busy_s: float | None = 1.0) -> CapacityInHour:
    return CapacityInHour(DAY + number * 3600, pool, Capacity(10.0, busy_s, 0.5))


async def test_sums_grow_by_hour_and_pool(store: AsyncEngine) -> None:
    await add_capacity(store, [hour(0), hour(0, LARGE)])
    await add_capacity(store, [hour(0), hour(1)])
    await add_capacity(store, [])
    assert await capacity_in(store, (DAY, DAY + 7200), 3600) == {
        (DAY, SPOT): Capacity(20.0, 2.0, 1.0),
        (DAY, LARGE): Capacity(10.0, 1.0, 0.5),
        (DAY + 3600, SPOT): Capacity(10.0, 1.0, 0.5),
    }


async def test_whole_ranges_and_days_are_sums_of_hours(store: AsyncEngine) -> None:
    await add_capacity(store, [hour(number) for number in (0, 22, 23, 24)])
    assert await capacity_in(store, (DAY, DAY + 48 * 3600), 86400) == {
        (DAY, SPOT): Capacity(30.0, 3.0, 1.5),
        (DAY + 86400, SPOT): Capacity(10.0, 1.0, 0.5),
    }
    assert await capacity_in(store, (DAY + 22 * 3600, DAY + 24 * 3600), None) == {
        (None, SPOT): Capacity(20.0, 2.0, 1.0)
    }


async def test_busy_seconds_are_unknown_until_somebody_told(store: AsyncEngine) -> None:
    everything = (DAY, DAY + 3600)
    await add_capacity(store, [hour(0, busy_s=None)])
    await add_capacity(store, [hour(0, busy_s=None)])
    assert (await capacity_in(store, everything, None))[None, SPOT].busy_s is None
    await add_capacity(store, [hour(0, busy_s=4.0)])
    await add_capacity(store, [hour(0, busy_s=None)])
    await add_capacity(store, [hour(0, busy_s=2.0)])
    assert (await capacity_in(store, everything, None))[None, SPOT].busy_s == 6.0


async def test_nothing_is_lost_when_two_add_at_the_same_time(store: AsyncEngine) -> None:
    await asyncio.gather(*(add_capacity(store, [hour(0)]) for _ in range(8)))
    assert (await capacity_in(store, (DAY, DAY + 1), None))[None, SPOT].replica_s == 80.0
