from __future__ import annotations

import httpx
import pytest

LIMITS = {"tokens_per_minute": 100_000, "usd_per_month": 900.0}


async def test_a_team_is_made_and_changed_as_a_whole(admin: httpx.AsyncClient) -> None:
    await admin.put("/admin/teams/search", json={"models": ["small"], "limits": LIMITS})
    made = (await admin.get("/admin/teams/search")).json()
    assert made["models"] == ["small"]
    assert made["limits"]["tokens_per_minute"] == 100_000
    await admin.put("/admin/teams/search", json={"limits": {"requests_per_minute": 5}})
    changed = (await admin.get("/admin/teams/search")).json()
    assert changed["models"] is None
    assert changed["limits"]["tokens_per_minute"] is None
    assert changed["limits"]["requests_per_minute"] == 5
    assert changed["created_at_s"] == made["created_at_s"]


async def test_teams_are_listed_by_name(admin: httpx.AsyncClient) -> None:
    for name in ("b", "c", "a"):
        await admin.put(f"/admin/teams/{name}", json={})
    first = (await admin.get("/admin/teams", params={"limit": 2})).json()
    rest = (await admin.get("/admin/teams", params={"after": first["next"]})).json()
    assert [team["name"] for team in (*first["data"], *rest["data"])] == ["a", "b", "c"]


async def test_a_team_with_live_keys_stays(admin: httpx.AsyncClient, search: str) -> None:
    made = (await admin.post("/admin/keys", json={"team": search, "name": "n"})).json()
    refused = await admin.delete("/admin/teams/search")
    assert refused.status_code == 409
    assert "has 1 live keys" in refused.json()["error"]["message"]
    await admin.post(f"/admin/keys/{made['id']}/revoke")
    assert (await admin.delete("/admin/teams/search")).status_code == 204
    assert (await admin.get("/admin/teams/search")).status_code == 404
    assert (await admin.get("/admin/keys")).json()["data"] == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_a_team_that_is_not_there_is_told(admin: httpx.AsyncClient, method: str) -> None:
    answer = await admin.request(method, "/admin/teams/nobody")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "team_not_found"


@pytest.mark.parametrize("name", ["-x", "a%2Fb", "a%20b", "a" * 129])
async def test_a_teams_name_is_plain(admin: httpx.AsyncClient, name: str) -> None:
    assert (await admin.put(f"/admin/teams/{name}", json={})).status_code in (400, 404)
