"""`turnout usage`: what it asks the admin API for, and how it shows the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from turnout.admin.client import AdminTarget
from turnout.cli import app
from turnout.usage import cli

SUMS = {
    "requests": 1234,
    "prompt_tokens": 5_000_000,
    "cached_tokens": 10,
    "completion_tokens": 70,
    "list_cost_usd": 12.3456,
    "true_cost_usd": 0.00123456,
}
POOL = {
    "model": "small",
    "market": "spot",
    "replica_hours": 2.0,
    "idle_share": 0.754,
    "cost_usd": 3.6,
    "prompt_tokens": 9,
    "completion_tokens": 2,
    "true_usd_per_million_output_tokens": 1.2,
    "true_usd_per_million_tokens": None,
}
REPORT: dict[str, Any] = {
    "from": "2026-01-01T00:00:00Z",
    "to": "2026-01-02T00:00:00Z",
    "group_by": ["team"],
    "bucket": None,
    "data": [{"team": "search", **SUMS}],
    "total": {**SUMS, "requests": 99},
    "pools": [POOL],
}


class FakeAdmin:
    """Takes every call and answers with what a test says."""

    def __init__(self) -> None:
        self.report: Any = REPORT
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, _target: AdminTarget) -> FakeAdmin:
        return self

    def call(self, _method: str, path: str, _body: None, **query: Any) -> Any:
        self.asked.append((path, {name: value for name, value in query.items() if value}))
        return self.report

    def pieces(self, method: str, path: str, body: None, **query: Any) -> list[bytes]:
        self.call(method, path, body, **query)
        return [b"a,b\r\n", b"1,2\r\n"]


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> FakeAdmin:
    fake = FakeAdmin()
    monkeypatch.setattr(cli, "AdminClient", fake)
    monkeypatch.setattr(cli, "admin_target", lambda: AdminTarget("http://admin", "k" * 32))
    monkeypatch.setenv("COLUMNS", "160")
    return fake


def usage(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["usage", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_teams_totals_and_pools_are_shown(admin: FakeAdmin) -> None:
    lines = [line.split() for line in usage().splitlines() if line.strip()]
    assert admin.asked == [("/admin/usage", {"group_by": "team"})]
    assert ["search", "1,234", "5,000,000", "10", "70", "$12.35", "$0.00123"] in lines
    assert ["total", "99", "5,000,000", "10", "70", "$12.35", "$0.00123"] in lines
    assert ["small", "spot", "2.00", "75%", "$3.60", "2", "$1.20", "-"] in lines


def test_options_narrow_the_question(admin: FakeAdmin) -> None:
    usage("--from", "2026-01-01", "--to", "2026-02-01", "--team", "ads", "--key", "k1", "--json")
    usage("--by", "model,market", "--csv")
    assert admin.asked == [
        (
            "/admin/usage",
            {
                "from": "2026-01-01",
                "to": "2026-02-01",
                "team": "ads",
                "key": "k1",
                "group_by": "team",
            },
        ),
        ("/admin/usage", {"group_by": "model,market", "format": "csv"}),
    ]


def test_json_is_the_answer_itself(admin: FakeAdmin) -> None:
    assert json.loads(usage("--json")) == REPORT


def test_csv_comes_out_as_it_came(admin: FakeAdmin) -> None:
    for option in ("--csv", "--records"):
        done = CliRunner().invoke(app, ["usage", option])
        assert done.stdout_bytes == b"a,b\r\n1,2\r\n"
    assert admin.asked[1] == ("/admin/usage/records", {})


def test_a_bucket_begins_every_line(admin: FakeAdmin) -> None:
    start = {"start": "2026-01-01T00:00:00Z"}
    data, pools = [{**REPORT["data"][0], **start}], [{**POOL, **start}]
    admin.report = {**REPORT, "bucket": "day", "data": data, "pools": pools}
    lines = [line.split() for line in usage("--bucket", "day").splitlines() if line.strip()]
    assert lines[2][:3] == ["2026-01-01T00:00:00Z", "search", "1,234"]
    assert lines[3][:2] == ["total", "99"]
    assert lines[-1][:3] == ["2026-01-01T00:00:00Z", "small", "spot"]


def test_a_time_without_usage_says_so(admin: FakeAdmin) -> None:
    admin.report = {**REPORT, "data": [], "pools": []}
    assert "no usage in this time" in usage()
