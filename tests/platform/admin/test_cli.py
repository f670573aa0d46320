"""The commands against an admin API that is served for real."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn

from turnout import cli
from turnout.admin.app import build_admin
from turnout.admin.key import parse_keys
from turnout.store.engine import open_store

KEY = "k" * 32
pytestmark = pytest.mark.parametrize("database", ["sqlite"])
Command = Callable[..., tuple[int, str, str]]


class _Served(threading.Thread):
    """Serves the admin API over a database until it is told to end."""

    def __init__(self, store_url: str) -> None:
        super().__init__()
        self._store_url = store_url
        self._sock = socket.create_server(("127.0.0.1", 0))
        self.url = "http://{}:{}".format(*self._sock.getsockname())
        self.server: uvicorn.Server | None = None

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        store = open_store(self._store_url)
        app = build_admin(store, parse_keys(f"alice {KEY}"))
        self.server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="warning"))
        await self.server.serve(sockets=[self._sock])
        await store.dispose()


@pytest.fixture
def command(
    store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """Runs `turnout …` as a shell would; returns the exit code, the output and the complaints."""
    served = _Served(store_url)
    served.start()
    while served.server is None or not served.server.started:
        time.sleep(0.01)
    monkeypatch.setenv("TURNOUT_ADMIN_URL", served.url)
    monkeypatch.setenv("TURNOUT_ADMIN_KEY", KEY)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["turnout", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    yield run
    served.server.should_exit = True
    served.join()


def test_a_quiet_create_prints_the_key_and_nothing_else(command: Command) -> None:
    command("teams", "set", "search")
    code, out, _ = command("keys", "create", "--team", "search", "--quiet")
    assert code == 0
    assert out.startswith("sk-")
    assert len(out.split()) == 1


def test_a_created_key_is_listed_without_its_secret(command: Command) -> None:
    command("teams", "set", "search", "--model", "small", "--limit", "usd_per_month=900")
    arguments = ("--team", "search", "--name", "chat bot", "--expires-in", "30d")
    _, out, _ = command("keys", "create", *arguments, "--limit", "requests_per_minute=60")
    key = out.split()[0]
    code, out, _ = command("keys", "list")
    assert code == 0
    assert key.split("-")[1] in out
    assert key.split("-")[2] not in out
    assert "chat bot" in out
    assert "requests_per_minute=60" in out
    listed = json.loads(command("keys", "list", "--json", "--team", "search")[1])
    assert listed[0]["expires_at_s"] - listed[0]["created_at_s"] == pytest.approx(30 * 86_400)


def test_keys_are_rotated_and_revoked_by_id(command: Command) -> None:
    command("teams", "set", "search")
    made = json.loads(command("keys", "create", "--team", "search", "--json")[1])
    code, new, _ = command("keys", "rotate", made["id"], "--overlap", "1h", "-q")
    assert (code, new[:3]) == (0, "sk-")
    code, out, _ = command("keys", "revoke", made["id"])
    assert (code, out) == (0, f"revoked {made['id']} (unnamed, team search)\n")
    listed = json.loads(command("keys", "list", "--json")[1])
    statuses = {key["id"]: key["status"] for key in listed}
    assert statuses == {made["id"]: "revoked", new.split("-")[1]: "live"}


def test_all_keys_are_listed_however_many_there_are(command: Command) -> None:
    command("teams", "set", "search")
    for _ in range(3):
        command("keys", "create", "--team", "search", "-q")
    assert len(json.loads(command("keys", "list", "--json")[1])) == 3


def test_teams_are_set_listed_and_deleted(command: Command) -> None:
    _, out, _ = command("teams", "set", "search", "--limit", "tokens_per_minute=100_000")
    assert out == "team search: models: all; limits: tokens_per_minute=100000\n"
    assert "tokens_per_minute=100000" in command("teams", "list")[1]
    assert command("teams", "delete", "search")[0] == 0
    assert command("teams", "list")[1] == "no teams: make one with `turnout teams set NAME`\n"


def test_the_audit_log_is_listed_and_verified(command: Command, store_url: str) -> None:
    command("teams", "set", "search")
    command("teams", "set", "search", "--model", "small")
    _, out, _ = command("audit", "list")
    assert "alice" in out
    assert "models: None → ['small']" in out
    code, out, _ = command("audit", "verify")
    assert code == 0
    assert out.startswith("the log is whole: 2 rows, head ")
    with sqlite3.connect(Path(store_url.removeprefix("sqlite:///"))) as connection:
        connection.execute("DROP TRIGGER audit_no_UPDATE")
        connection.execute("UPDATE audit SET actor = 'mallory' WHERE sequence = 2")
    connection.close()
    code, _, err = command("audit", "verify")
    assert (code, err) == (1, "broken at row 2: it was changed\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["keys", "create", "--team", "nobody"], "there is no team 'nobody': make it with"),
        (["keys", "create", "--team", "a", "--limit", "x=1"], "--limit 'x=1': expected NAME=VALUE"),
        (["keys", "rotate", "0" * 17], "invalid value for 'key_id'"),
        (["keys", "rotate", "../../x"], "nothing at POST"),
        (["keys", "revoke", "0" * 16], f"there is no key with the id '{'0' * 16}'"),
        (["teams", "set", "a b"], "invalid value for 'name'"),
        (["teams", "delete", "nobody"], "there is no team 'nobody'"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(command: Command, arguments: list[str], told: str) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {told}")
    assert err.count("\n") == 1
