"""Old usage goes, newer usage stays, in both databases."""

from __future__ import annotations

import asyncio
import time

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from tests.platform.store.test_usage import all_of, record

from turnout.store.capacity import add_capacity, capacity_in
from turnout.store.retention import delete_usage_before, keep_usage
from turnout.store.usage import insert_usage
from turnout.usage.cost import Capacity, CapacityInHour, Pool

NOON = 1_700_000_000 // 3600 * 3600
POOL = Pool("small", "spot")


async def test_only_what_is_older_goes_however_much_it_is(store: AsyncEngine) -> None:
    old = [record(f"old{n}", at_s=NOON - 1 - n) for n in range(25)]
    kept = [record("at", at_s=NOON), record("later", at_s=NOON + 1)]
    await insert_usage(store, [*old, *kept])
    assert await delete_usage_before(store, NOON, at_once=10) == 25
    assert await all_of(store) == kept
    assert await delete_usage_before(store, NOON) == 0


async def test_an_hour_of_a_pool_goes_when_all_of_it_is_older(store: AsyncEngine) -> None:
    hours = (NOON - 7200, NOON - 3600, NOON)
    have = Capacity(3600.0, 60.0, 1.0)
    await add_capacity(store, [CapacityInHour(hour, POOL, have) for hour in hours])
    await delete_usage_before(store, NOON - 1800)
    left = await capacity_in(store, (0, NOON + 3600), 3600)
    assert sorted(hour for hour, _ in left if hour is not None) == [NOON - 3600, NOON]


async def test_days_count_from_now_and_a_store_that_is_away_is_asked_again(
    store: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, tries = time.time(), 0
    await insert_usage(store, [record("old", at_s=now_s - 41 * 86_400), record("new", at_s=now_s)])

    async def sometimes(store: AsyncEngine, at_s: float) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError("away")
        return await delete_usage_before(store, at_s)

    monkeypatch.setattr("turnout.store.retention.delete_usage_before", sometimes)
    cleaning = asyncio.create_task(keep_usage(store, 40, period_s=0.01))
    async with asyncio.timeout(20):
        while tries < 3:
            await asyncio.sleep(0.01)
    cleaning.cancel()
    assert [each.id for each in await all_of(store)] == ["new"]
