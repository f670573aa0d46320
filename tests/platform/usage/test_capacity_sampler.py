"""What was ready is counted once, also through a database that is down."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from turnout.config.settings import ModelSettings
from turnout.gateway.replicas import EngineLoad, Replica
from turnout.usage.capacity_sampler import CapacitySampler
from turnout.usage.cost import Capacity, CapacityInHour

HOUR = 1_700_002_800
MODEL = ModelSettings(
    application="a", tier="t", pools=("spot",), usd_per_replica_hour={"spot": 3600.0}
)


class Table:
    def __init__(self) -> None:
        self.ready: list[Replica] = []

    def replicas(self, model: str) -> Sequence[Replica]:
        return [replica for replica in self.ready if replica.model == model]


class Sums:
    def __init__(self) -> None:
        self.rows: list[CapacityInHour] = []
        self.is_down = False

    async def add(self, rows: Sequence[CapacityInHour]) -> None:
        if self.is_down:
            raise ConnectionRefusedError
        self.rows += rows


def replica(name: str, running: int = 0) -> Replica:
    return Replica(name, "small", "spot", None, 2048, load=EngineLoad(running=running))


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def sums() -> Sums:
    return Sums()


@pytest.fixture
def sampler(table: Table, sums: Sums) -> CapacitySampler:
    made = CapacitySampler(table, sums.add)
    made.configure({"small": MODEL})
    return made


async def test_each_look_adds_the_time_since_the_last(
    sampler: CapacitySampler, table: Table, sums: Sums
) -> None:
    table.ready = [replica("a", running=1)]
    sampler.sample(HOUR + 10, 5)
    table.ready = [replica("a"), replica("b")]
    sampler.sample(HOUR + 15, 5)
    await sampler.flush()
    assert [row.capacity for row in sums.rows] == [Capacity(15, 5, 15)]
    await sampler.flush()
    assert len(sums.rows) == 1


async def test_sums_wait_while_the_database_is_down(
    sampler: CapacitySampler, table: Table, sums: Sums
) -> None:
    table.ready, sums.is_down = [replica("a")], True
    for number in range(1, 100):
        sampler.sample(HOUR + number, 1)
        with pytest.raises(ConnectionRefusedError):
            await sampler.flush()
    sums.is_down = False
    await sampler.flush()
    assert [(row.hour_s, row.capacity) for row in sums.rows] == [(HOUR, Capacity(99, 0, 99))]


async def test_a_process_that_stood_still_counts_a_minute_at_most(
    sampler: CapacitySampler, table: Table, sums: Sums
) -> None:
    table.ready = [replica("a")]
    sampler.sample(HOUR + 3000, 2000)
    await sampler.flush()
    assert sums.rows[0].capacity.replica_s == 60


async def test_a_model_that_is_taken_out_is_not_counted_any_more(
    sampler: CapacitySampler, table: Table, sums: Sums
) -> None:
    table.ready = [replica("a")]
    sampler.configure({})
    sampler.sample(HOUR + 5, 5)
    await sampler.flush()
    assert sums.rows == []


async def test_a_database_that_fails_does_not_end_the_sampling(
    sampler: CapacitySampler, table: Table, sums: Sums
) -> None:
    table.ready, sums.is_down = [replica("a")], True
    running = asyncio.create_task(sampler.run(interval_s=0.01))
    try:
        await asyncio.sleep(0.1)
        assert not running.done()
        sums.is_down = False
        async with asyncio.timeout(20):
            while not sums.rows:
                await asyncio.sleep(0.01)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
