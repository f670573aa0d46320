from __future__ import annotations

import asyncio
import hashlib

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store import audit
from turnout.store.audit import FIRST_HASH, Act, Entry, Verdict
from turnout.store.engine import writing


async def _append(store: AsyncEngine, *acts: Act) -> None:
    for act in acts:
        async with writing(store) as connection:
            await audit.lock(connection)
            await audit.append(connection, act)


async def _verify(store: AsyncEngine, head: str | None = None) -> Verdict:
    async with store.connect() as connection:
        return await audit.verify(connection, head)


async def _tamper(store: AsyncEngine, statement: str) -> None:
    """Changes the log as somebody would who may do anything to the database."""
    is_postgresql = store.dialect.name == "postgresql"
    lifts = (
        ["ALTER TABLE audit DISABLE TRIGGER ALL"]
        if is_postgresql
        else ["DROP TRIGGER audit_no_UPDATE", "DROP TRIGGER audit_no_DELETE"]
    )
    async with store.begin() as connection:
        for sentence in (*lifts, statement):
            await connection.execute(text(sentence))


def _act(number: int) -> Act:
    return Act(float(number), "alice", "key.create", f"k{number}", None, {"n": number})


@pytest.fixture
async def log(store: AsyncEngine) -> AsyncEngine:
    """Five acts in the log."""
    await _append(store, *(_act(number) for number in range(1, 6)))
    return store


async def test_a_rows_hash_is_the_sha256_of_its_canonical_json(store: AsyncEngine) -> None:
    act = Act(12.5, "alice", "team.change", "search", {"b": 1, "a": None}, {"name": "Grüße"})
    await _append(store, act)
    async with store.connect() as connection:
        (entry,) = await audit.listed(connection, None, 10)
    text = (
        r'[1,12.5,"alice","team.change","search","{\"a\":null,\"b\":1}",'
        r'"{\"name\":\"Gr\\u00fc\\u00dfe\"}","' + "0" * 64 + '"]'
    )
    assert entry.hash == hashlib.sha256(text.encode()).hexdigest()


async def test_an_untouched_log_is_whole_and_names_its_head(log: AsyncEngine) -> None:
    async with log.connect() as connection:
        newest = (await audit.listed(connection, None, 1))[0]
    assert await _verify(log) == Verdict(5, newest.hash)


async def test_an_empty_log_is_whole(store: AsyncEngine) -> None:
    assert await _verify(store) == Verdict(0, FIRST_HASH)


@pytest.mark.parametrize(
    ("statement", "broken_at", "problem"),
    [
        ("UPDATE audit SET actor = 'mallory' WHERE sequence = 3", 3, "changed"),
        ("UPDATE audit SET at_s = at_s + 1 WHERE sequence = 1", 1, "changed"),
        ("UPDATE audit SET after = NULL WHERE sequence = 5", 5, "changed"),
        ("DELETE FROM audit WHERE sequence = 2", 2, "missing"),
        ("DELETE FROM audit WHERE sequence = 1", 1, "missing"),
        ("UPDATE audit SET previous_hash = hash WHERE sequence = 4", 4, "follow"),
        (
            "INSERT INTO audit SELECT 0, at_s, actor, act, subject, before, after, previous_hash, "
            "hash FROM audit WHERE sequence = 1",
            1,
            "missing",
        ),
    ],
)
async def test_the_first_row_that_does_not_hold_is_found(
    log: AsyncEngine, statement: str, broken_at: int, problem: str
) -> None:
    await _tamper(log, statement)
    verdict = await _verify(log)
    assert verdict.broken_at == broken_at
    assert problem in (verdict.problem or "")


async def test_a_row_resealed_after_a_change_breaks_the_next_one(log: AsyncEngine) -> None:
    async with log.connect() as connection:
        third = (await audit.listed(connection, 4, 1))[0]
    forged = Entry(**{**vars(third), "actor": "mallory"})
    await _tamper(
        log, f"UPDATE audit SET actor = 'mallory', hash = '{forged.seal()}' WHERE sequence = 3"
    )
    assert (await _verify(log)).broken_at == 4


async def test_rows_cut_off_at_the_end_are_missed_by_whoever_noted_the_head(
    log: AsyncEngine,
) -> None:
    head = (await _verify(log)).head
    await _append(log, _act(6))
    assert (await _verify(log, head)).broken_at is None
    await _tamper(log, "DELETE FROM audit WHERE sequence > 4")
    assert (await _verify(log)).broken_at is None
    assert (await _verify(log, head)).broken_at == 5


async def test_a_log_of_many_pages_is_checked_to_its_end(
    log: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_PAGE", 2)
    assert (await _verify(log)).rows == 5
    await _tamper(log, "UPDATE audit SET act = 'x' WHERE sequence = 5")
    assert (await _verify(log)).broken_at == 5


async def test_acts_at_the_same_time_form_one_chain(store: AsyncEngine) -> None:
    await asyncio.gather(*(_append(store, _act(number)) for number in range(12)))
    verdict = await _verify(store)
    assert (verdict.rows, verdict.broken_at) == (12, None)


async def test_the_log_is_listed_from_its_newest_row_in_pages(log: AsyncEngine) -> None:
    async with log.connect() as connection:
        first = await audit.listed(connection, None, 3)
        rest = await audit.listed(connection, first[-1].sequence, 3)
    assert [entry.sequence for entry in (*first, *rest)] == [5, 4, 3, 2, 1]
