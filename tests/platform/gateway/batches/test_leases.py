"""Several gateways on one database: one works on a batch, and another when that one dies."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy.ext.asyncio import AsyncEngine
from tests.platform.gateway.batches.office import line
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import eventually, settings

from turnout.batches.batch import Batch
from turnout.store.batches import batch_of, claim, insert_batch, move, release, renew
from turnout.store.engine import writing

if TYPE_CHECKING:
    from tests.platform.gateway.batches.office import Office

TEN = [line(f"q{n}") for n in range(10)]


def batch(name: str, team: str = "t", at_s: float = 0.0) -> Batch:
    return Batch(name, team, "k", "/v1/completions", "file-1", None, at_s, 1e9)


async def test_a_batch_is_claimed_once_until_its_lease_ends(store: AsyncEngine) -> None:
    await insert_batch(store, batch("b"))
    first = await claim(store, "w1", 100.0, 115.0, 4)
    assert first is not None
    assert (first.id, first.worker, first.lease_until_s) == ("b", "w1", 115.0)
    assert await claim(store, "w2", 114.9, 130.0, 4) is None
    second = await claim(store, "w2", 115.0, 130.0, 4)
    assert second is not None
    assert second.worker == "w2"
    assert await renew(store, first, 140.0, (5, 0)) is None
    kept = await renew(store, second, 140.0, (3, 1))
    assert kept is not None
    assert (kept.lease_until_s, kept.completed, kept.failed) == (140.0, 3, 1)


async def test_of_gateways_that_claim_together_one_has_the_batch(store: AsyncEngine) -> None:
    await insert_batch(store, batch("b"))
    claims = (claim(store, f"w{n}", 100.0, 115.0, 4) for n in range(8))
    claimed = [each for each in await asyncio.gather(*claims) if each is not None]
    assert len(claimed) == 1
    assert await batch_of(store, "b") == claimed[0]


async def test_who_lost_a_batch_changes_nothing_of_it(store: AsyncEngine) -> None:
    await insert_batch(store, batch("b"))
    first = await claim(store, "w1", 100.0, 101.0, 4)
    second = await claim(store, "w2", 102.0, 110.0, 4)
    assert first is not None
    assert second is not None
    async with writing(store) as connection:
        assert not await move(connection, first, "in_progress", 103.0)
    await release(store, first)
    assert await batch_of(store, "b") == second
    async with writing(store) as connection:
        assert await move(connection, second, "in_progress", 103.0, total=7)
        assert not await move(connection, second, "in_progress", 104.0)
    found = await batch_of(store, "b")
    assert found == replace(second, status="in_progress", in_progress_at_s=103.0, total=7)


async def test_a_team_with_many_batches_leaves_room_for_another(store: AsyncEngine) -> None:
    for n in range(3):
        await insert_batch(store, batch(f"many{n}", "many", n))
    await insert_batch(store, batch("few", "few", 9))
    claimed = [await claim(store, f"w{n}", 100.0, 115.0, 2) for n in range(4)]
    assert [each and each.id for each in claimed] == ["many0", "many1", "few", None]


async def test_two_gateways_do_no_line_twice(office: Office, small: FakeEngine) -> None:
    small.delay_s = 0.01
    other = office.new_desk()
    await other.configure(settings(batches={"lease_s": 1}))
    made = [await office.create(TEN) for _ in range(4)]
    for each in made:
        done = await office.over(each.id)
        results = await office.lines_of(done.output_file_id)
        assert sorted(each["custom_id"] for each in results) == [f"q{n}" for n in range(10)]
    assert len(small.generations) == 40
    await other.stop()


async def test_another_gateway_goes_on_when_one_dies(office: Office, small: FakeEngine) -> None:
    small.delay_s = 0.05
    await office.configure(max_running_lines=1)
    made = await office.create(TEN)
    await eventually(lambda: len(small.generations) >= 4)
    dying = office.desk._worker
    assert dying is not None
    tasks = [*dying._runs]
    dying._runs.clear()  # nothing is released
    await dying.stop()
    for task in tasks:
        task.cancel()
    await eventually(lambda: small.running == 0)
    asked = len(small.generations)
    other = office.new_desk()
    await other.configure(settings(batches={"lease_s": 1}))
    results = await office.lines_of((await office.over(made.id)).output_file_id)
    assert sorted(each["custom_id"] for each in results) == [f"q{n}" for n in range(10)]
    assert len(small.generations) - asked <= 10 - 3
    await other.stop()
