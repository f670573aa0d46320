from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, insert, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.engine import open_store
from turnout.store.migrate import migrate
from turnout.store.tables import audit, metadata

ROW = {
    **{"sequence": 1, "at_s": 0.0, "actor": "a", "act": "x", "subject": "s"},
    **{"previous_hash": "0" * 64, "hash": "1" * 64},
}
MIGRATE = """
import asyncio, sys
from turnout.store.engine import open_store
from turnout.store.migrate import migrate
asyncio.run(migrate(open_store(sys.argv[1])))
"""


def _differences(connection: Connection) -> list[Any]:
    context = MigrationContext.configure(connection, opts={"compare_server_default": True})
    return list(compare_metadata(context, metadata))


async def _differences_at(url: str) -> list[Any]:
    store = open_store(url)
    async with store.connect() as connection:
        found = await connection.run_sync(_differences)
    await store.dispose()
    return found


async def test_migrations_make_the_tables_that_the_code_uses(store_url: str) -> None:
    assert await _differences_at(store_url) == []


async def test_an_empty_database_differs(empty_url: str) -> None:
    added = {change[1].name for change in await _differences_at(empty_url) if "table" in change[0]}
    assert added == {"teams", "keys", "usage", "capacity", "files", "batches", "audit"}


async def test_migrating_again_changes_nothing(store: AsyncEngine, store_url: str) -> None:
    async with store.begin() as connection:
        await connection.execute(insert(audit).values(ROW))
    await migrate(store)
    assert await _differences_at(store_url) == []
    async with store.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM audit"))).scalar_one() == 1


async def test_processes_that_start_together_migrate_once(empty_url: str) -> None:
    command = [sys.executable, "-c", MIGRATE, empty_url]
    started = [
        await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE) for _ in range(2)
    ]
    for process in started:
        _, problems = await process.communicate()
        assert process.returncode == 0, problems.decode()
    assert await _differences_at(empty_url) == []


@pytest.mark.parametrize("act", ["UPDATE audit SET actor = 'b'", "DELETE FROM audit"])
async def test_the_database_refuses_to_change_the_audit_log(store: AsyncEngine, act: str) -> None:
    async with store.begin() as connection:
        await connection.execute(insert(audit).values(ROW))
    async with store.connect() as connection:
        with pytest.raises(DBAPIError, match="append-only"):
            await connection.execute(text(act))


@pytest.mark.parametrize("database", ["postgresql"])
async def test_postgresql_refuses_to_empty_the_audit_log(store: AsyncEngine) -> None:
    async with store.connect() as connection:
        with pytest.raises(DBAPIError, match="append-only"):
            await connection.execute(text("TRUNCATE audit"))
