"""`/admin/usage`: every team's usage, what pools cost, and the records, as JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.admin.app import build_admin
from turnout.admin.key import parse_keys
from turnout.store.capacity import add_capacity
from turnout.store.usage import insert_usage
from turnout.usage.admin_routes import router
from turnout.usage.cost import Capacity, CapacityInHour, Pool
from turnout.usage.record import UsageRecord

HOUR = 1_700_002_800  # 2023-11-14 23:00 UTC
RANGE = "from=2023-11-14&to=2023-11-16"
RecordOf = Callable[..., UsageRecord]


@pytest.fixture
async def admin(store: AsyncEngine, record_of: RecordOf) -> AsyncIterator[httpx.AsyncClient]:
    """The admin API over three requests of two teams, and over two hours of one spot replica."""
    await insert_usage(
        store,
        [
            record_of(at_s=HOUR + 1.0, prompt_tokens=60, completion_tokens=20, list_cost_usd=0.5),
            record_of(at_s=HOUR + 2.0, team="ads", prompt_tokens=10, completion_tokens=10),
            record_of(at_s=HOUR + 3600.0, team="ads", prompt_tokens=50, completion_tokens=50),
        ],
    )
    pool = Pool("small", "spot")
    await add_capacity(
        store,
        [
            CapacityInHour(HOUR, pool, Capacity(3600.0, 900.0, 1.0)),
            CapacityInHour(HOUR + 3600, pool, Capacity(3600.0, 2700.0, 3.0)),
        ],
    )
    app = build_admin(store, parse_keys("k" * 32), [router])
    headers = {"authorization": f"Bearer {'k' * 32}"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://admin", headers=headers
    ) as client:
        yield client


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


async def test_all_teams_are_summed_up_with_what_pools_cost(admin: httpx.AsyncClient) -> None:
    """Four dollars for two hundred tokens: two cents each."""
    answer = (await admin.get(f"/admin/usage?{RANGE}&group_by=team")).json()
    assert [(row["team"], row["requests"], row["true_cost_usd"]) for row in answer["data"]] == [
        ("ads", 2, pytest.approx(2.4)),
        ("search", 1, pytest.approx(1.6)),
    ]
    assert answer["total"]["true_cost_usd"] == pytest.approx(4.0)
    [pool] = answer["pools"]
    assert pool["true_usd_per_million_output_tokens"] == pytest.approx(4 / 80 * 1e6)
    assert pool["true_usd_per_million_tokens"] == pytest.approx(20_000)
    assert (pool["replica_hours"], pool["idle_share"]) == (2.0, pytest.approx(0.5))


async def test_hours_have_costs_of_their_own_as_csv(admin: httpx.AsyncClient) -> None:
    answer = await admin.get(f"/admin/usage?{RANGE}&group_by=team&bucket=hour&format=csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    told = [(row["start"], row["team"], row["requests"]) for row in rows(answer.text)]
    assert told == [
        ("2023-11-14T23:00:00Z", "ads", "1"),
        ("2023-11-14T23:00:00Z", "search", "1"),
        ("2023-11-15T00:00:00Z", "ads", "1"),
    ]
    costs = [float(row["true_cost_usd"]) for row in rows(answer.text)]
    assert costs == [pytest.approx(0.2), pytest.approx(0.8), pytest.approx(3.0)]


async def test_one_team_pays_its_share_of_what_all_used(admin: httpx.AsyncClient) -> None:
    answer = (await admin.get(f"/admin/usage?{RANGE}&team=search")).json()
    assert answer["total"]["requests"] == 1
    assert answer["total"]["true_cost_usd"] == pytest.approx(1.6)


async def test_every_record_comes_as_csv_with_every_field(
    admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.usage.as_csv.LINES_AT_ONCE", 2)
    answer = await admin.get(f"/admin/usage/records?{RANGE}")
    told = rows(answer.text)
    assert set(told[0]) == set(UsageRecord.__struct_fields__)
    assert [row["completion_tokens"] for row in told] == ["20", "10", "50"]
    assert told[0]["list_cost_usd"] == "0.5"
    assert told[0]["ttft_s"] == ""
    only = await admin.get(f"/admin/usage/records?{RANGE}&team=ads")
    assert [row["team"] for row in rows(only.text)] == ["ads", "ads"]


async def test_no_records_are_a_header(admin: httpx.AsyncClient) -> None:
    answer = await admin.get("/admin/usage/records?from=0&to=1")
    assert answer.text.startswith("id,at_s,team,")
    assert rows(answer.text) == []


@pytest.mark.parametrize("path", ["/admin/usage", "/admin/usage/records"])
async def test_a_wrong_parameter_is_named(admin: httpx.AsyncClient, path: str) -> None:
    answer = await admin.get(f"{path}?from=soon")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "from")


@pytest.mark.parametrize("path", ["/admin/usage", "/admin/usage/records"])
async def test_a_teams_key_opens_nothing_here(admin: httpx.AsyncClient, path: str) -> None:
    answer = await admin.get(path, headers={"authorization": "Bearer sk-abc-def"})
    assert answer.status_code == 401


async def test_the_page_describes_its_parameters(admin: httpx.AsyncClient) -> None:
    page: Any = (await admin.get("/openapi.json")).json()
    names = {each["name"] for each in page["paths"]["/admin/usage"]["get"]["parameters"]}
    assert names == {"from", "to", "team", "key", "group_by", "bucket", "format"}
