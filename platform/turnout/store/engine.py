"""Opens the database that DATABASE_URL names: PostgreSQL, or a SQLite file by default."""

import os
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from filelock import FileLock
from platformdirs import user_data_path
from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from turnout.store.errors import MalformedUrl, UnknownDatabase

DATABASE_URL = "DATABASE_URL"
STATE_DIR = "TURNOUT_STATE_DIR"
CONNECT_TIMEOUT_S = 5
STATEMENT_TIMEOUT_S = 30
_BEGIN = "turnout_begin"
_POSTGRESQL = ("postgres", "postgresql", "postgresql+asyncpg")
_SQLITE = ("sqlite", "sqlite+aiosqlite")


def state_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the folder of what must survive a restart: `TURNOUT_STATE_DIR` or the user's own."""
    return Path(environ.get(STATE_DIR) or user_data_path("turnout"))


def database_url(environ: Mapping[str, str] = os.environ) -> str:
    """Returns `DATABASE_URL`, or the URL of the SQLite file in the state folder."""
    return environ.get(DATABASE_URL) or f"sqlite:///{state_dir(environ) / 'turnout.db'}"


def open_store(url: str | None = None) -> AsyncEngine:
    """Opens a database, by default that of the environment; connects at the first use.

    Close it with `dispose()`. Raises `UnknownDatabase` or `MalformedUrl`.
    """
    try:
        parsed = make_url(url or database_url())
    except (ArgumentError, ValueError):
        raise MalformedUrl from None
    if parsed.drivername in _SQLITE:
        return _open_sqlite(parsed)
    if parsed.drivername in _POSTGRESQL:
        return _open_postgresql(parsed)
    raise UnknownDatabase(parsed.drivername)


@asynccontextmanager
async def writing(store: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Opens a transaction that will write; commits it at the end.

    SQLite takes its write lock at once: what the transaction reads cannot change before it writes.
    """
    async with store.execution_options(**{_BEGIN: "IMMEDIATE"}).begin() as connection:
        yield connection


def is_postgresql(connection: AsyncConnection | Connection) -> bool:
    """Tells PostgreSQL from SQLite."""
    return connection.dialect.name == "postgresql"


def _open_postgresql(url: URL) -> AsyncEngine:
    # libpq's name, which everyone writes, for what asyncpg calls `ssl`.
    if "sslmode" in url.query:
        query = {"ssl": url.query["sslmode"]}
        url = url.difference_update_query(["sslmode"]).update_query_dict(query)
    return create_async_engine(
        url.set(drivername="postgresql+asyncpg"),
        hide_parameters=True,  # errors and logs show no values
        pool_pre_ping=True,  # a restarted server costs no failed request
        pool_timeout=CONNECT_TIMEOUT_S,
        connect_args={
            "timeout": CONNECT_TIMEOUT_S,
            "command_timeout": STATEMENT_TIMEOUT_S,
            "server_settings": {"application_name": "turnout"},
        },
    )


def _open_sqlite(url: URL) -> AsyncEngine:
    if url.database and url.database != ":memory:":
        _create_file(Path(url.database))
    store = create_async_engine(url.set(drivername="sqlite+aiosqlite"), hide_parameters=True)
    event.listen(store.sync_engine, "connect", _prepare)
    event.listen(store.sync_engine, "begin", _begin)
    return store


def _create_file(path: Path) -> None:
    """Makes the file, for this user alone, in WAL mode: readers and the writer do not wait.

    SQLite gives its -wal and -shm files the mode of the database file.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(f"{path}.lock", mode=0o600):  # two processes cannot both switch to WAL
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        path.chmod(0o600)
        with closing(sqlite3.connect(path, timeout=CONNECT_TIMEOUT_S)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")


def _prepare(dbapi_connection: Any, _record: Any) -> None:
    # Python's sqlite3 would begin transactions by itself, and not before a SELECT.
    dbapi_connection.isolation_level = None
    cursor = dbapi_connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={CONNECT_TIMEOUT_S * 1000}")
    cursor.execute("PRAGMA foreign_keys=ON")
    # The file stays whole; a power cut may cost the last writes.
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get(_BEGIN, '')}")
