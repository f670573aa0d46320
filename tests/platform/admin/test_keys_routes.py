from __future__ import annotations

import time
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.access.caller import Caller, Denied
from turnout.access.known import entry_of, judge
from turnout.access.secret import hashed
from turnout.store.keys import find


async def _make(admin: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await admin.post("/admin/keys", json={"team": "search", "name": "bot", **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def _caller(store: AsyncEngine, key: str, at_s: float) -> Caller | Denied:
    key_id = key.split("-")[1]
    return judge(entry_of((await find(store, [key_id])).get(key_id), 0.0), key, at_s)


async def test_a_made_key_is_shown_once(admin: httpx.AsyncClient, search: str) -> None:
    made = await _make(admin, limits={"requests_per_minute": 60}, models=["small"])
    shown = {name: value for name, value in made.items() if name != "key"}
    assert made["key"].startswith(f"sk-{made['id']}-")
    assert (await admin.get(f"/admin/keys/{made['id']}")).json() == shown
    assert (await admin.get("/admin/keys")).json() == {"data": [shown], "next": None}
    assert shown["status"] == "live"
    assert shown["scopes"] == ["inference"]
    assert shown["limits"]["requests_per_minute"] == 60


async def test_the_database_holds_a_keys_hash_and_nowhere_its_secret(
    admin: httpx.AsyncClient, search: str, store: AsyncEngine
) -> None:
    key = (await _make(admin))["key"]
    async with store.connect() as connection:
        rows = [
            str(row)
            for table in ("keys", "teams", "audit")
            for row in await connection.execute(text(f"SELECT * FROM {table}"))
        ]
    everything = "\n".join(rows)
    assert hashed(key) in everything
    assert key.split("-")[2] not in everything
    assert everything.count(hashed(key)) == 1  # the audit log has not even the hash


async def test_a_key_needs_a_team_that_exists(admin: httpx.AsyncClient) -> None:
    answer = await admin.post("/admin/keys", json={"team": "nobody", "name": "n"})
    assert answer.status_code == 404
    assert "turnout teams set nobody" in answer.json()["error"]["message"]


async def test_a_key_can_be_made_for_a_time(
    admin: httpx.AsyncClient, search: str, store: AsyncEngine
) -> None:
    made = await _make(admin, expires_in_s=3600)
    assert made["expires_at_s"] == pytest.approx(made["created_at_s"] + 3600)
    assert isinstance(await _caller(store, made["key"], time.time() + 3000), Caller)
    assert isinstance(await _caller(store, made["key"], time.time() + 3700), Denied)


async def test_both_keys_work_until_a_rotations_overlap_is_over(
    admin: httpx.AsyncClient, search: str, store: AsyncEngine
) -> None:
    old = await _make(admin, scopes=["batch"], models=["small"], limits={"usd_per_day": 2.5})
    answer = await admin.post(f"/admin/keys/{old['id']}/rotate", json={"overlap_s": 600})
    assert answer.status_code == 201
    new = answer.json()
    callers = [await _caller(store, key["key"], time.time()) for key in (old, new)]
    assert all(isinstance(caller, Caller) for caller in callers)
    later = [await _caller(store, key["key"], time.time() + 601) for key in (old, new)]
    assert [type(caller) for caller in later] == [Denied, Caller]
    same = ("team", "name", "scopes", "models", "limits")
    assert [new[name] for name in same] == [old[name] for name in same]
    assert (await admin.get(f"/admin/keys/{old['id']}")).json()["replaced_by"] == new["id"]


async def test_without_an_overlap_the_old_key_ends_at_once(
    admin: httpx.AsyncClient, search: str, store: AsyncEngine
) -> None:
    old = await _make(admin)
    await admin.post(f"/admin/keys/{old['id']}/rotate", json={"overlap_s": 0})
    assert isinstance(await _caller(store, old["key"], time.time()), Denied)


async def test_a_rotation_never_makes_the_old_key_live_longer(
    admin: httpx.AsyncClient, search: str
) -> None:
    old = await _make(admin, expires_in_s=60)
    new = (await admin.post(f"/admin/keys/{old['id']}/rotate", json={"overlap_s": 9999})).json()
    shown = (await admin.get(f"/admin/keys/{old['id']}")).json()
    assert shown["expires_at_s"] == old["expires_at_s"]
    assert new["expires_at_s"] - new["created_at_s"] == pytest.approx(60)


async def test_a_key_is_rotated_once(admin: httpx.AsyncClient, search: str) -> None:
    old = await _make(admin)
    new = (await admin.post(f"/admin/keys/{old['id']}/rotate")).json()
    again = await admin.post(f"/admin/keys/{old['id']}/rotate")
    assert again.status_code == 409
    assert f"replaced by '{new['id']}'" in again.json()["error"]["message"]


async def test_a_revoked_key_works_no_more(
    admin: httpx.AsyncClient, search: str, store: AsyncEngine
) -> None:
    made = await _make(admin)
    answer = await admin.post(f"/admin/keys/{made['id']}/revoke")
    assert answer.json()["status"] == "revoked"
    assert isinstance(await _caller(store, made["key"], time.time()), Denied)


@pytest.mark.parametrize("act", ["rotate", "revoke"])
async def test_a_revoked_key_is_at_its_end(admin: httpx.AsyncClient, search: str, act: str) -> None:
    made = await _make(admin)
    await admin.post(f"/admin/keys/{made['id']}/revoke")
    answer = await admin.post(f"/admin/keys/{made['id']}/{act}")
    assert answer.status_code == 409
    assert "was revoked" in answer.json()["error"]["message"]


@pytest.mark.parametrize("act", ["rotate", "revoke"])
async def test_a_key_that_is_not_there_is_told(admin: httpx.AsyncClient, act: str) -> None:
    assert (await admin.post(f"/admin/keys/{'0' * 16}/{act}")).status_code == 404
    assert (await admin.get(f"/admin/keys/{'0' * 16}")).status_code == 404


async def test_keys_are_listed_in_pages_and_by_team(admin: httpx.AsyncClient, search: str) -> None:
    await admin.put("/admin/teams/ads", json={})
    made = {(await _make(admin))["id"] for _ in range(5)} | {(await _make(admin, team="ads"))["id"]}
    seen, after = [], ""
    for _ in range(10):
        page = (await admin.get("/admin/keys", params={"limit": 2, "after": after})).json()
        seen += [key["id"] for key in page["data"]]
        after = page["next"]
        if after is None:
            break
    assert sorted(seen) == sorted(made)
    only = (await admin.get("/admin/keys", params={"team": "ads"})).json()["data"]
    assert [key["team"] for key in only] == ["ads"]
