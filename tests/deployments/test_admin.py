from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from turnout_deployments import admin
from turnout_deployments.admin import AdminReplica

KEY = "k" * 32


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNOUT_STATE_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("TURNOUT_ADMIN_KEY", KEY)
    monkeypatch.setattr(admin, "watch_capacity", _watch_nothing)  # asks Ray


async def _watch_nothing(_store: object) -> None:
    """Stands in for the account of the pools."""


async def _made() -> AdminReplica:
    """Makes a replica as Serve does, which awaits its constructor."""
    replica = AdminReplica.__new__(AdminReplica)
    await replica.__init__()  # type: ignore[misc]
    return replica


@pytest.fixture
async def replica(environment: None) -> AsyncIterator[AdminReplica]:
    made = await _made()
    yield made
    await made.close()


async def _teams(address: str, key: str = KEY) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        headers = {"authorization": f"Bearer {key}"}
        return await client.get(f"{address}/admin/teams", headers=headers)


async def test_the_admin_api_answers_on_its_own_port_over_a_new_database(
    replica: AdminReplica, tmp_path: Path
) -> None:
    port = _free_port()
    await replica.reconfigure({"port": port})
    assert await replica.address() == f"http://127.0.0.1:{port}"
    answer = await _teams(await replica.address())
    assert answer.json() == {"data": [], "next": None}
    assert (tmp_path / "turnout.db").exists()
    await replica.check_health()


async def test_a_changed_port_moves_the_listener(replica: AdminReplica) -> None:
    first, second = _free_port(), _free_port()
    await replica.reconfigure({"port": first})
    await replica.reconfigure({"port": second})
    assert (await _teams(f"http://127.0.0.1:{second}")).status_code == 200
    with pytest.raises(httpx.ConnectError):
        await _teams(f"http://127.0.0.1:{first}")


async def test_settings_that_did_not_change_leave_the_listener_alone(
    replica: AdminReplica,
) -> None:
    settings = {"port": _free_port()}
    await replica.reconfigure(settings)
    before = replica._port
    await replica.reconfigure(dict(settings))
    assert replica._port is before


async def test_a_port_that_is_freed_meanwhile_is_taken(replica: AdminReplica) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        work = asyncio.create_task(replica.reconfigure({"port": port}))
        await asyncio.sleep(0.3)
        assert not work.done()
    await work
    assert (await _teams(f"http://127.0.0.1:{port}")).status_code == 200


async def test_a_replica_without_its_port_is_unhealthy(replica: AdminReplica) -> None:
    with pytest.raises(RuntimeError, match="port is closed"):
        await replica.check_health()


async def test_the_key_that_is_made_where_none_is_given_opens_the_admin_api(
    environment: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TURNOUT_ADMIN_KEY")
    monkeypatch.delenv("TURNOUT_ADMIN_KEY_FILE", raising=False)
    replica = await _made()
    await replica.reconfigure({"port": _free_port()})
    made = (tmp_path / "admin_key").read_text().strip()
    assert (await _teams(await replica.address(), made)).status_code == 200
    assert (await _teams(await replica.address(), KEY)).status_code == 401
    await replica.close()
