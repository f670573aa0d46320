from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.engine import database_url, open_store, writing
from turnout.store.errors import MalformedUrl, UnknownDatabase
from turnout.store.tables import keys, teams

TEAM: dict[str, object] = {"name": "a", "models": None, "limits": {}, "created_at_s": 0.0}


def test_without_database_url_the_database_is_a_file_in_the_state_folder() -> None:
    assert database_url({"TURNOUT_STATE_DIR": "/srv/t"}) == "sqlite:////srv/t/turnout.db"


def test_database_url_comes_first() -> None:
    environ = {"DATABASE_URL": "postgres://db/t", "TURNOUT_STATE_DIR": "/srv/t"}
    assert database_url(environ) == "postgres://db/t"


async def test_the_sqlite_file_is_its_owners_alone_and_in_wal_mode(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/new/turnout.db")
    async with store.begin() as connection:
        await connection.execute(text("CREATE TABLE t (x INTEGER)"))
        mode = (await connection.execute(text("PRAGMA journal_mode"))).scalar_one()
        files = {path.name: path for path in (tmp_path / "new").iterdir()}
    await store.dispose()
    assert mode == "wal"
    assert {"turnout.db", "turnout.db-wal", "turnout.db-shm"} <= files.keys()
    assert stat.S_IMODE((tmp_path / "new/turnout.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_sqlite_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "turnout.db"
    path.touch(0o644)
    open_store(f"sqlite:///{path}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg"])
def test_every_usual_name_of_postgresql_opens_it(scheme: str) -> None:
    store = open_store(f"{scheme}://u:p@db.example:5433/turnout?sslmode=require")
    assert store.url.drivername == "postgresql+asyncpg"
    assert (store.url.host, store.url.port) == ("db.example", 5433)
    assert dict(store.url.query) == {"ssl": "require"}  # as asyncpg calls it


def test_other_databases_are_refused_by_name() -> None:
    with pytest.raises(UnknownDatabase, match="begins with 'mysql'"):
        open_store("mysql://u:hunter2@db/t")


def test_a_malformed_url_is_refused_without_repeating_it() -> None:
    with pytest.raises(MalformedUrl) as refused:
        open_store("postgresql//u:hunter2@db")
    assert "hunter2" not in str(refused.value)


async def test_a_key_needs_its_team(store: AsyncEngine) -> None:
    orphan = {
        **{"id": "k", "team": "nobody", "name": "n", "secret_hash": "0" * 64},
        **{"scopes": [], "limits": {}, "created_at_s": 0.0},
    }
    async with store.connect() as connection:
        with pytest.raises(IntegrityError) as refused:
            await connection.execute(insert(keys).values(orphan))
    assert "0" * 64 not in str(refused.value)  # errors show no values


async def test_writers_wait_for_each_other_instead_of_losing_updates(store: AsyncEngine) -> None:
    """Each reads, then writes; on SQLite the write fails unless they lock before they read."""
    async with store.begin() as connection:
        await connection.execute(insert(teams).values(TEAM))

    async def count_up() -> None:
        async with writing(store) as connection:
            query = select(teams.c.created_at_s).with_for_update()
            value = (await connection.execute(query)).scalar_one()
            await asyncio.sleep(0)
            await connection.execute(update(teams).values(created_at_s=value + 1))

    await asyncio.gather(*(count_up() for _ in range(8)))
    async with store.connect() as connection:
        assert (await connection.execute(select(teams.c.created_at_s))).scalar_one() == 8.0


async def test_a_transaction_that_fails_leaves_nothing(store: AsyncEngine) -> None:
    async def fail() -> None:
        async with writing(store) as connection:
            await connection.execute(insert(teams).values(TEAM))
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    async with store.connect() as connection:
        assert (await connection.execute(select(func.count()).select_from(teams))).scalar_one() == 0
