from __future__ import annotations

import json

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

BOB = {"authorization": f"Bearer {'b' * 32}"}


async def _rows(admin: httpx.AsyncClient) -> list[dict[str, str]]:
    return list((await admin.get("/admin/audit")).json()["data"])


async def test_every_act_is_logged_with_who_what_and_how_it_was_before(
    admin: httpx.AsyncClient,
) -> None:
    await admin.put("/admin/teams/search", json={})
    await admin.put("/admin/teams/search", json={"models": ["small"]}, headers=BOB)
    made = (await admin.post("/admin/keys", json={"team": "search", "name": "n"})).json()
    new = (await admin.post(f"/admin/keys/{made['id']}/rotate")).json()
    await admin.post(f"/admin/keys/{made['id']}/revoke")
    await admin.post(f"/admin/keys/{new['id']}/revoke", headers=BOB)
    await admin.delete("/admin/teams/search")
    rows = await _rows(admin)
    assert [(row["actor"], row["act"], row["subject"]) for row in reversed(rows)] == [
        ("alice", "team.create", "search"),
        ("bob", "team.change", "search"),
        ("alice", "key.create", made["id"]),
        ("alice", "key.create", new["id"]),
        ("alice", "key.rotate", made["id"]),
        ("alice", "key.revoke", made["id"]),
        ("bob", "key.revoke", new["id"]),
        ("alice", "team.delete", "search"),
    ]
    change = rows[-2]
    assert json.loads(change["before"])["models"] is None
    assert json.loads(change["after"])["models"] == ["small"]
    assert rows[0]["after"] is None
    assert rows[-1]["before"] is None


async def test_looking_and_failing_are_no_acts(admin: httpx.AsyncClient, search: str) -> None:
    await admin.get("/admin/keys")
    await admin.post("/admin/keys", json={"team": "nobody", "name": "n"})
    await admin.delete("/admin/teams/nobody")
    assert len(await _rows(admin)) == 1


async def test_an_act_that_cannot_be_logged_does_not_happen(
    admin: httpx.AsyncClient, search: str, store: AsyncEngine
) -> None:
    """Its transaction fails as a whole."""
    async with store.begin() as connection:
        await connection.execute(text("ALTER TABLE audit RENAME TO elsewhere"))
    assert (await admin.put("/admin/teams/ads", json={})).status_code == 503
    assert (await admin.get("/admin/teams/ads")).status_code == 404


async def test_a_whole_log_is_told_to_be(admin: httpx.AsyncClient, search: str) -> None:
    verdict = (await admin.get("/admin/audit/verify")).json()
    assert (verdict["is_whole"], verdict["rows"]) == (True, 1)
    assert verdict["head"] == (await _rows(admin))[0]["hash"]


@pytest.mark.parametrize("database", ["sqlite"])
async def test_a_changed_log_is_told_to_be(
    admin: httpx.AsyncClient, search: str, store: AsyncEngine
) -> None:
    async with store.begin() as connection:
        await connection.execute(text("DROP TRIGGER audit_no_UPDATE"))
        await connection.execute(text("UPDATE audit SET actor = 'mallory'"))
    verdict = (await admin.get("/admin/audit/verify")).json()
    assert (verdict["is_whole"], verdict["broken_at"]) == (False, 1)
    assert verdict["problem"] == "it was changed"


async def test_a_head_that_is_gone_is_told(admin: httpx.AsyncClient, search: str) -> None:
    verdict = await admin.get("/admin/audit/verify", params={"head": "f" * 64})
    assert verdict.json()["broken_at"] == 2


async def test_the_log_comes_in_pages_newest_first(admin: httpx.AsyncClient) -> None:
    for number in range(5):
        await admin.put(f"/admin/teams/t{number}", json={})
    page = (await admin.get("/admin/audit", params={"limit": 3})).json()
    rest = (await admin.get("/admin/audit", params={"before": page["next"]})).json()
    subjects = [row["subject"] for row in (*page["data"], *rest["data"])]
    assert subjects == ["t4", "t3", "t2", "t1", "t0"]


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE"])
async def test_there_is_no_way_to_change_the_log(admin: httpx.AsyncClient, method: str) -> None:
    for path in ("/admin/audit", "/admin/audit/1"):
        assert (await admin.request(method, path)).status_code in (404, 405)
