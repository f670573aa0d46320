from __future__ import annotations

import logging
from typing import Any

import httpx
import pytest
from fastapi import APIRouter
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.admin.app import build_admin
from turnout.admin.key import parse_keys

KEY = "a" * 32
same_on_any_database = pytest.mark.parametrize("database", ["sqlite"])


def _error(answer: httpx.Response) -> dict[str, Any]:
    """Returns the error of an answer, which has OpenAI's shape."""
    (error,) = answer.json().values()
    assert set(error) == {"message", "type", "param", "code"}
    return dict(error)


@same_on_any_database
@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": ""},
        {"authorization": f"Bearer {'c' * 32}"},
        {"authorization": "Bearer sk-0123456789abcdef-" + "0" * 64},
        {"authorization": f"Basic {KEY}"},
    ],
)
@pytest.mark.parametrize("path", ["/admin/keys", "/admin/audit/verify", "/admin/nothing"])
async def test_nothing_is_told_without_the_admin_key(
    admin: httpx.AsyncClient, path: str, headers: dict[str, str]
) -> None:
    answer = await admin.get(path, headers=headers)
    assert answer.status_code == 401
    assert _error(answer)["code"] == "invalid_admin_key"
    assert answer.headers["www-authenticate"] == "Bearer"


@same_on_any_database
async def test_failed_tries_are_counted_and_logged_without_what_was_sent(
    admin: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await admin.get("/admin/keys", headers={"authorization": "Bearer hunter2hunter2"})
    page = (await admin.get("/metrics")).text
    assert "turnout_admin_refused_total 3.0" in page
    records = [record for record in caplog.records if record.message == "admin_refused"]
    assert len(records) == 3
    assert not any("hunter2" in str(vars(record)) for record in records)


async def test_a_team_key_opens_no_admin_api(admin: httpx.AsyncClient, search: str) -> None:
    made = await admin.post("/admin/keys", json={"team": search, "name": "n"})
    key = made.json()["key"]
    answer = await admin.get("/admin/keys", headers={"authorization": f"Bearer {key}"})
    assert answer.status_code == 401


@same_on_any_database
@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/openapi.json"])
async def test_health_metrics_and_the_api_page_need_no_key(
    admin: httpx.AsyncClient, path: str
) -> None:
    assert (await admin.get(path, headers={"authorization": ""})).status_code == 200


@same_on_any_database
async def test_the_api_page_lists_every_path(admin: httpx.AsyncClient) -> None:
    page = (await admin.get("/openapi.json")).json()
    assert {"/admin/keys", "/admin/keys/{key_id}/rotate", "/admin/teams/{name}"} <= set(
        page["paths"]
    )


@same_on_any_database
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/admin/nothing", 404), ("DELETE", "/admin/keys", 405), ("GET", "/admin/keys/", 404)],
)
async def test_unknown_paths_and_methods_are_told_in_openais_shape(
    admin: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await admin.request(method, path)
    assert answer.status_code == status
    assert _error(answer)["message"].startswith(f"nothing at {method} {path}")


@same_on_any_database
@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", "body"),
        (b"{", "1"),
        (b"[]", "body"),
        (b'{"name": "n"}', "team"),
        (b'{"team": "search", "name": "n", "color": "red"}', "color"),
        (b'{"team": "search", "name": ""}', "name"),
        (b'{"team": "a/b", "name": "n"}', "team"),
        (b'{"team": "search", "name": "n", "scopes": ["root"]}', "scopes.0"),
        (b'{"team": "search", "name": "n", "limits": {"usd_per_day": NaN}}', "limits.usd_per_day"),
        (b'{"team": "search", "name": "n", "limits": {"usd_per_day": 0}}', "limits.usd_per_day"),
        (b'{"team": "search", "name": "n", "expires_in_s": -1}', "expires_in_s"),
        (b'{"team": "search", "name": "secret-value\\u0000"}', "name"),
    ],
)
async def test_a_wrong_field_is_named_and_its_value_not_repeated(
    admin: httpx.AsyncClient, search: str, body: bytes, param: str
) -> None:
    answer = await admin.post(
        "/admin/keys", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400
    error = _error(answer)
    assert error["param"] == param
    assert "secret-value" not in answer.text


@same_on_any_database
async def test_a_body_beyond_the_limit_is_refused(admin: httpx.AsyncClient) -> None:
    answer = await admin.post("/admin/keys", content=b"x" * 70_000)
    assert answer.status_code == 413
    _error(answer)


@pytest.mark.parametrize(
    "path",
    [
        "/admin/keys?after=%00",
        "/admin/keys?team=%00",
        "/admin/keys?limit=0",
        "/admin/keys/%00",
        "/admin/teams?after=%00",
        "/admin/teams/%00",
        "/admin/audit?before=99999999999999999999",
        "/admin/audit/verify?head=%ff",
    ],
)
async def test_text_that_no_database_takes_is_refused_before_it_gets_there(
    admin: httpx.AsyncClient, path: str
) -> None:
    answer = await admin.get(path)
    assert answer.status_code == 400
    _error(answer)


async def test_half_a_character_is_no_name(admin: httpx.AsyncClient, search: str) -> None:
    body = rb'{"team": "search", "name": "\ud83d"}'
    headers = {"content-type": "application/json"}
    answer = await admin.post("/admin/keys", content=body, headers=headers)
    assert answer.status_code == 400
    assert _error(answer)["param"] == "name"


async def test_a_bug_is_told_as_one_and_its_message_kept_out_of_answer_and_log(
    store: AsyncEngine, caplog: pytest.LogCaptureFixture
) -> None:
    router = APIRouter()

    @router.get("/admin/broken")
    async def broken() -> None:
        raise LookupError("hunter2")

    transport = httpx.ASGITransport(build_admin(store, parse_keys(KEY), [router]))
    async with httpx.AsyncClient(transport=transport, base_url="http://admin") as client:
        answer = await client.get("/admin/broken", headers={"x-api-key": KEY})
    assert answer.status_code == 500
    assert _error(answer)["code"] == "internal_error"
    assert "hunter2" not in answer.text + caplog.text
    (record,) = [record for record in caplog.records if record.message == "admin_fault"]
    assert vars(record)["error"] == "LookupError"


async def test_a_database_that_is_away_is_told_as_such(
    admin: httpx.AsyncClient, store: AsyncEngine, database: str
) -> None:
    async with store.begin() as connection:
        cascade = " CASCADE" if database == "postgresql" else ""
        await connection.execute(text(f"DROP TABLE keys{cascade}"))
    answer = await admin.get("/admin/keys")
    assert answer.status_code == 503
    assert _error(answer)["code"] == "database_unavailable"
    assert answer.headers["retry-after"] == "5"
