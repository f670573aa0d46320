"""The directory over real databases: what happens while they are away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.access.caller import Caller, Denied
from turnout.access.directory import Directory
from turnout.access.secret import new_key
from turnout.admin.models import NewKey, NewTeam
from turnout.admin.registrar import Registrar
from turnout.config.settings import AccessSettings
from turnout.store.keys import find

SETTINGS = AccessSettings(fresh_s=0.05, lookup_timeout_s=30)
IMPATIENT = AccessSettings(fresh_s=0.05, lookup_timeout_s=0.5)
NOT_NOW = Denied("keys cannot be checked now", is_temporary=True)


@pytest.fixture
async def directory(store: AsyncEngine) -> AsyncIterator[Directory]:
    opened = Directory(partial(find, store), SETTINGS)
    yield opened
    await opened.close()


@pytest.fixture
async def registrar(store: AsyncEngine) -> Registrar:
    """Acts on a store that has the team `search`."""
    made = Registrar(store)
    await made.set_team("alice", "search", NewTeam())
    return made


async def _new(registrar: Registrar, **more: Any) -> str:
    return (await registrar.create_key("alice", NewKey(team="search", name="n", **more)))[1]


async def _ask(directory: Directory, key: str) -> Caller | Denied:
    return await directory.identify({b"x-api-key": key.encode()})


async def _eventually(directory: Directory, key: str, wanted: type | Denied) -> None:
    for _ in range(600):
        answer = await _ask(directory, key)
        if answer == wanted or (isinstance(wanted, type) and isinstance(answer, wanted)):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"not {wanted} but {answer}")


async def test_a_key_made_in_the_store_works_with_its_limits(
    directory: Directory, registrar: Registrar
) -> None:
    limits = {"tokens_per_minute": 1000}
    key = await _new(registrar, limits=limits, scopes=["batch"], models=["small"])
    caller = await _ask(directory, key)
    assert isinstance(caller, Caller)
    assert caller.team == "search"
    assert caller.scopes == frozenset({"batch"})
    assert caller.models == frozenset({"small"})
    assert caller.key_limits.tokens_per_minute == 1000


async def test_a_revoked_key_stops_working(directory: Directory, registrar: Registrar) -> None:
    key = await _new(registrar)
    assert isinstance(await _ask(directory, key), Caller)
    await registrar.revoke_key("alice", key.split("-")[1])
    await _eventually(directory, key, Denied("this key was revoked"))


async def test_who_a_key_stands_for_is_known_without_the_key(
    directory: Directory, registrar: Registrar
) -> None:
    key_id = (await _new(registrar)).split("-")[1]
    found = await directory.caller_of(key_id)
    assert isinstance(found, Caller)
    assert (found.key_id, found.team) == (key_id, "search")
    assert await directory.caller_of("none") == Denied("this key is not known here")


async def test_a_rotated_keys_successor_stands_for_it_once_it_ended(
    directory: Directory, registrar: Registrar
) -> None:
    first = (await _new(registrar)).split("-")[1]
    second, _ = await registrar.rotate_key("alice", first, overlap_s=0.0)
    third, _ = await registrar.rotate_key("alice", second.id, overlap_s=0.0)
    found = await directory.caller_of(first)
    assert isinstance(found, Caller)
    assert found.key_id == third.id
    await registrar.revoke_key("alice", third.id)
    async with asyncio.timeout(30):
        while await directory.caller_of(first) != Denied("this key was revoked"):
            await asyncio.sleep(0.05)


async def test_a_thousand_wrong_keys_cost_a_real_store_few_queries(
    store: AsyncEngine,
) -> None:
    queries: list[int] = []

    async def counted(ids: Sequence[str]) -> Any:
        queries.append(len(ids))
        return await find(store, ids)

    directory = Directory(counted, AccessSettings(lookup_timeout_s=30))
    answers = await asyncio.gather(*(_ask(directory, new_key()[1]) for _ in range(1000)))
    await directory.close()
    assert set(answers) == {Denied("this key is not known here")}
    assert len(queries) <= 5


@pytest.mark.parametrize("database", ["postgresql"])
async def test_known_keys_work_while_postgresql_is_dead_and_all_do_when_it_is_back(
    directory: Directory, registrar: Registrar, postgres: Any
) -> None:
    known, new = await _new(registrar), await _new(registrar)
    assert isinstance(await _ask(directory, known), Caller)
    await asyncio.to_thread(postgres.kill)
    try:
        for _ in range(20):
            await asyncio.sleep(0.06)  # no longer fresh
            assert isinstance(await _ask(directory, known), Caller)
        assert await _ask(directory, new) == NOT_NOW
    finally:
        await asyncio.to_thread(postgres.start)
    await _eventually(directory, new, Caller)


@pytest.mark.parametrize("database", ["postgresql"])
async def test_known_keys_work_while_postgresql_hangs(
    directory: Directory, registrar: Registrar, postgres: Any
) -> None:
    known, new = await _new(registrar), await _new(registrar)
    assert isinstance(await _ask(directory, known), Caller)
    directory.configure(IMPATIENT)
    postgres.pause()
    try:
        for _ in range(20):
            await asyncio.sleep(0.06)
            assert isinstance(await _ask(directory, known), Caller)
        assert await _ask(directory, new) == NOT_NOW
    finally:
        postgres.resume()
    await _eventually(directory, new, Caller)


@pytest.mark.parametrize("database", ["sqlite"])
async def test_keys_work_while_somebody_locks_the_sqlite_file(
    directory: Directory, registrar: Registrar, store: AsyncEngine
) -> None:
    from turnout.store.engine import writing  # noqa: PLC0415 - beside its only use

    key = await _new(registrar)
    async with writing(store):
        assert isinstance(await _ask(directory, key), Caller)
