"""How batches are worked off: what happens to lines, keys, limits, cancels and expiries."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine
from tests.platform.gateway.batches.office import CHAT, line
from tests.platform.gateway.fake_engine import FakeEngine, error_body
from tests.platform.gateway.system import eventually

from turnout.batches.batch import Batch
from turnout.batches.journal import Journal, Result
from turnout.store.batches import insert_batch
from turnout.store.tables import batches

if TYPE_CHECKING:
    from tests.platform.gateway.batches.office import Office

pytestmark = pytest.mark.parametrize("database", ["sqlite"])
TEN = [line(f"q{n}") for n in range(10)]


async def test_one_wrong_line_fails_the_batch_and_nothing_runs(
    office: Office, small: FakeEngine
) -> None:
    wrong = [line("a"), line("a"), line("b", model="none"), line("c", url="/v1/completions")]
    batch = await office.over((await office.create(wrong)).id)
    assert batch.status == "failed"
    assert batch.failed_at is not None
    assert batch.errors is not None
    assert batch.errors.data is not None
    assert [(each.line, each.code, each.param) for each in batch.errors.data] == [
        (2, "duplicate_custom_id", "custom_id"),
        (3, "model_not_found", "body.model"),
        (4, "mismatched_endpoint", "url"),
    ]
    assert (batch.output_file_id, batch.error_file_id) == (None, None)
    assert small.generations == []


@pytest.mark.parametrize(
    ("lines", "code"), [([], "empty_file"), ([line("a"), line("b"), line("c")], "too_many_lines")]
)
async def test_an_input_must_have_lines_but_not_too_many(
    office: Office, lines: list[object], code: str
) -> None:
    await office.configure(max_lines=2)
    batch = await office.over((await office.create(lines or b"\n")).id)
    assert batch.errors is not None
    assert batch.errors.data is not None
    assert [(each.line, each.code) for each in batch.errors.data] == [(None, code)]


async def test_a_batch_whose_input_is_gone_fails(office: Office, store: AsyncEngine) -> None:
    gone = Batch("b", "team-one", "one", CHAT, "file-gone", None, time.time(), time.time() + 99)
    await insert_batch(store, gone)
    batch = await office.over("b")
    assert batch.errors is not None
    assert batch.errors.data is not None
    assert [each.code for each in batch.errors.data] == ["file_not_found"]


async def test_lines_that_are_refused_are_told_in_the_error_file(office: Office) -> None:
    lines = [line("good"), line("bad", body={"temperature": 9})]
    batch = await office.over((await office.create(lines)).id)
    assert batch.status == "completed"
    assert batch.request_counts is not None
    assert batch.request_counts.model_dump() == {"total": 2, "completed": 1, "failed": 1}
    (good,) = await office.lines_of(batch.output_file_id)
    (bad,) = await office.lines_of(batch.error_file_id)
    assert (good["custom_id"], bad["custom_id"]) == ("good", "bad")
    assert (bad["response"]["status_code"], bad["error"]) == (400, None)
    assert bad["response"]["body"]["error"]["param"] == "temperature"


async def test_no_more_lines_run_at_a_time_than_are_set(office: Office, small: FakeEngine) -> None:
    await office.configure(max_running_lines=3)
    small.delay_s = 0.02
    made = [await office.create(TEN) for _ in range(3)]
    for batch in made:
        assert (await office.over(batch.id)).status == "completed"
    assert small.most_running == 3


async def test_a_cancelled_batch_keeps_what_was_done_and_stops_the_rest(
    office: Office, small: FakeEngine
) -> None:
    await office.configure(max_running_lines=1)
    small.delay_s = 0.05
    made = await office.create(TEN)
    await eventually(lambda: len(small.generations) == 3)
    assert (await office.client.batches.cancel(made.id)).status == "cancelling"
    small.stalls = True
    batch = await office.over(made.id)
    assert batch.status == "cancelled"
    done = await office.lines_of(batch.output_file_id)
    assert 2 <= len(done) <= 4
    assert batch.request_counts is not None
    assert batch.request_counts.completed == len(done)
    assert (batch.error_file_id, small.running) == (None, 0)


async def test_what_a_batch_could_not_do_in_time_is_told(office: Office, small: FakeEngine) -> None:
    await office.configure(max_running_lines=1)
    small.delay_s = 0.05
    made = await office.create(TEN)
    await eventually(lambda: len(small.generations) == 3)
    await office.desk.stop()
    async with office.store.begin() as connection:
        await connection.execute(update(batches).values(expires_at_s=1.0))
    await office.configure()
    batch = await office.over(made.id)
    assert batch.status == "expired"
    done = await office.lines_of(batch.output_file_id)
    late = await office.lines_of(batch.error_file_id)
    assert sorted(each["custom_id"] for each in (*done, *late)) == [f"q{n}" for n in range(10)]
    assert {(each["error"]["code"], each["response"]) for each in late} == {("batch_expired", None)}
    assert batch.request_counts is not None
    assert batch.request_counts.failed == len(late) > 0


async def test_lines_that_are_refused_for_now_wait(office: Office, small: FakeEngine) -> None:
    ready = office.system.table.by_model.pop("small")
    office.system.configure(batches={"lease_s": 1}, limits={"retry_after_s": 1})
    made = await office.create(TEN)
    refused = {"endpoint": "chat", "status": "503"}
    async with asyncio.timeout(5):
        while not await office.system.metric("turnout_requests_total", **refused):
            await asyncio.sleep(0.05)
    assert (await office.client.batches.retrieve(made.id)).status == "in_progress"
    office.system.table.by_model["small"] = ready
    batch = await office.over(made.id)
    assert (batch.status, batch.error_file_id) == ("completed", None)


async def test_a_line_that_breaks_every_engine_fails_in_the_end(
    office: Office, small: FakeEngine
) -> None:
    small.answer = 503, error_body("broken", 503)
    batch = await office.over((await office.create([line("poison")])).id)
    assert batch.status == "completed"
    (failed,) = await office.lines_of(batch.error_file_id)
    assert failed["response"]["status_code"] == 503


async def test_a_key_that_is_revoked_stops_its_batch(office: Office, small: FakeEngine) -> None:
    await office.configure(max_running_lines=1)
    small.delay_s = 0.05
    made = await office.create(TEN)
    await eventually(lambda: len(small.generations) == 3)
    revoked = office.keys.callers.pop("one")
    await eventually(lambda: small.running == 0)
    await asyncio.sleep(0.2)
    office.keys.callers["one"] = revoked  # to look
    batch = await office.over(made.id)
    assert batch.status == "failed"
    assert batch.errors is not None
    assert batch.errors.data is not None
    assert [each.code for each in batch.errors.data] == ["key_not_live"]
    assert len(await office.lines_of(batch.output_file_id)) == len(small.generations) < 10


async def test_every_line_is_charged_to_the_team_of_the_key(office: Office) -> None:
    await office.over((await office.create(TEN)).id)
    charged = [(each.team, each.key_id, each.status) for each in office.records.all]
    assert charged == [("team-one", "one", 200)] * 10
    assert len({each.id for each in office.records.all}) == 10


async def test_a_line_that_is_answered_twice_is_charged_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, faults = Journal.add, [OSError(28, "No space left on device")]

    async def add_later(journal: Journal, result: Result) -> None:
        if faults:
            raise faults.pop()
        await add(journal, result)

    monkeypatch.setattr(Journal, "add", add_later)
    batch = await office.over((await office.create([line("a")])).id)
    assert len(await office.lines_of(batch.output_file_id)) == 1
    first, second = office.records.all
    assert first.id == second.id


async def test_a_restarted_gateway_does_only_what_was_left(
    office: Office, small: FakeEngine
) -> None:
    await office.configure(max_running_lines=2)
    small.delay_s = 0.05
    made = await office.create(TEN)
    await eventually(lambda: len(small.generations) >= 5)
    await office.desk.stop()
    kept = office.folder / "batches" / "results" / made.id
    done = sum(len(path.read_bytes().splitlines()) for path in kept.iterdir())
    asked = len(small.generations)
    assert done >= 3
    await office.configure()
    batch = await office.over(made.id)
    results = await office.lines_of(batch.output_file_id)
    assert sorted(each["custom_id"] for each in results) == [f"q{n}" for n in range(10)]
    assert len(small.generations) - asked == 10 - done
    await eventually(lambda: not kept.exists())


async def test_what_becomes_of_lines_is_counted(office: Office) -> None:
    office.system.gateway._metrics.registry.register(office.desk)
    lines = [line("good"), line("better"), line("bad", body={"temperature": 9})]
    await office.over((await office.create(lines)).id)
    name = "turnout_batch_lines_total"
    assert await office.system.metric(name, outcome="completed") == 2
    assert await office.system.metric(name, outcome="failed") == 1
    assert await office.system.metric(name, outcome="refused") == 0
    await eventually(lambda: office.desk._worker is not None and not office.desk._worker.running)
    assert await office.system.metric("turnout_batches_running") == 0
