"""`GET /v1/usage`: a caller's own team, in the words of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from turnout.access.caller import Caller, Denied
from turnout.gateway.app import Governance
from turnout.usage.cost import Capacity, Pool, Tokens
from turnout.usage.question import BadQuestion, Question
from turnout.usage.report import Report, Sums, report_of

if TYPE_CHECKING:
    from tests.platform.gateway.system import System

SPOT = Pool("small", "spot")


class OneTeam:
    """Everyone is of the team "search"; scopes are the test's."""

    def __init__(self, *scopes: Any) -> None:
        self._caller = Caller("k1", "search", frozenset(scopes))

    async def identify(self, headers: Mapping[bytes, bytes]) -> Caller | Denied:
        return self._caller if b"authorization" in headers else Denied("no key was sent")


class Reports:
    """Answers one line; keeps what it was asked."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.asked: list[Question] = []
        self._fails = fails

    async def report(self, question: Question) -> Report:
        self.asked.append(question)
        if self._fails:
            raise self._fails
        sums = Sums(None, ("small",) * len(question.by), SPOT, 2, Tokens(30, 20), 5, 0.125)
        # A dollar for a hundred tokens, half of which are this team's.
        pool = (None, SPOT)
        return report_of(question, [sums], {pool: Capacity(3600, 0, 1.0)}, {pool: Tokens(60, 40)})


def govern(system: System, reports: Reports | None, *scopes: str) -> None:
    system.govern(Governance(access=OneTeam(*scopes), reports=reports))


async def usage(system: System, query: str = "", **headers: str) -> Any:
    sent = headers or {"authorization": "Bearer k"}
    return await system.client.get(f"/v1/usage{query}", headers=sent)


async def test_a_caller_sees_its_own_teams_usage_with_both_costs(bare: System) -> None:
    reports = Reports()
    govern(bare, reports, "usage")
    answer = await usage(bare, "?from=0&to=2026-01-01&group_by=model")
    assert reports.asked == [Question(0, 1_767_225_600, ("model",), None, "search", None)]
    assert answer.status_code == 200
    sums = {
        "requests": 2,
        "prompt_tokens": 30,
        "cached_tokens": 5,
        "completion_tokens": 20,
        "list_cost_usd": 0.125,
        "true_cost_usd": pytest.approx(0.5),
    }
    assert answer.json() == {
        "object": "usage.report",
        "from": "1970-01-01T00:00:00Z",
        "to": "2026-01-01T00:00:00Z",
        "group_by": ["model"],
        "bucket": None,
        "data": [{"model": "small", **sums}],
        "total": sums,
    }


async def test_another_teams_usage_is_not_for_this_key(bare: System) -> None:
    reports = Reports()
    govern(bare, reports, "usage")
    answer = await usage(bare, "?team=ads")
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "team"
    assert not reports.asked
    assert (await usage(bare, "?team=search")).status_code == 200


async def test_a_key_without_the_scope_is_refused(bare: System) -> None:
    govern(bare, Reports(), "inference")
    answer = await usage(bare)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "insufficient_scope")


async def test_no_key_is_no_usage(bare: System) -> None:
    govern(bare, Reports(), "usage")
    assert (await usage(bare, accept="*/*")).status_code == 401


@pytest.mark.parametrize(
    ("query", "param"), [("?from=x", "from"), ("?group_by=prompt", "group_by"), ("?a=1", "a")]
)
async def test_a_wrong_parameter_is_named(bare: System, query: str, param: str) -> None:
    govern(bare, Reports(), "usage")
    answer = await usage(bare, query)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


async def test_too_long_an_answer_is_the_callers_to_narrow(bare: System) -> None:
    govern(bare, Reports(BadQuestion("group_by", "too many lines")), "usage")
    answer = await usage(bare)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "group_by")


async def test_a_database_that_is_away_is_told_without_its_words(bare: System) -> None:
    govern(bare, Reports(ConnectionRefusedError("postgresql://user:secret@db")), "usage")
    answer = await usage(bare)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "usage_unavailable")
    assert answer.headers["retry-after"] == "5"
    assert "secret" not in answer.text


async def test_a_gateway_without_a_database_says_so(bare: System) -> None:
    govern(bare, None, "usage")
    answer = await usage(bare)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "usage_not_kept")


async def test_usage_is_read_only(bare: System) -> None:
    govern(bare, Reports(), "usage")
    assert (await bare.client.post("/v1/usage")).status_code == 405
