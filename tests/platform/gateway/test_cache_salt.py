"""Engines share cached prompts within a team only: the gateway sets the salt, clients cannot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import CHAT, COMPLETIONS, HI, settings

from turnout.access.caller import Caller, Denied
from turnout.gateway.api import PATHS
from turnout.gateway.app import Governance
from turnout.gateway.order import job_of
from turnout.gateway.request import parse

if TYPE_CHECKING:
    from tests.platform.gateway.system import System


class TeamByHeader:
    """Takes the team's name for the key."""

    async def identify(self, headers: Mapping[bytes, bytes]) -> Caller | Denied:
        team = headers[b"authorization"].decode("latin-1").removeprefix("Bearer ")
        return Caller("k-" + team, team)


SEARCH = {"authorization": "Bearer search"}
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": HI},
    COMPLETIONS: {"prompt": "Hi"},
    "/v1/messages": {"messages": HI, "max_tokens": 3},
    "/v1/responses": {"input": "Hi"},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", BODIES)
async def test_a_teams_requests_carry_its_salt(bare: System, path: str, stream: bool) -> None:
    engine = await bare.add(FakeEngine())
    bare.govern(Governance(TeamByHeader()))
    body = {"model": "small", "stream": stream, **BODIES[path]}
    assert (await bare.post(body, path, headers=SEARCH)).status_code == 200
    (asked,) = engine.generations
    assert asked["cache_salt"] == "search"
    assert [asked[name] for name in BODIES[path].keys() & {"messages", "prompt"}] == [
        BODIES[path][name] for name in BODIES[path].keys() & {"messages", "prompt"}
    ]


async def test_who_needs_no_key_has_no_salt(bare: System) -> None:
    engine = await bare.add(FakeEngine())
    body = json.dumps({"model": "small", "messages": HI}).encode()
    await bare.post(body)
    assert engine.received[0][1] == body


async def test_settings_turn_it_off(bare: System) -> None:
    engine = await bare.add(FakeEngine())
    bare.govern(Governance(TeamByHeader()))
    bare.configure(cache_salt="off")
    await bare.post({"model": "small", "messages": HI}, headers=SEARCH)
    assert "cache_salt" not in engine.generations[0]


@pytest.mark.parametrize("path", BODIES)
async def test_no_client_sets_it(bare: System, path: str) -> None:
    engine = await bare.add(FakeEngine())
    body = {"model": "small", **BODIES[path], "cache_salt": "other"}
    answer = await bare.post(body, path)
    assert answer.status_code == 400
    assert "'cache_salt'" in answer.json()["error"]["message"]
    assert engine.generations == []


@pytest.mark.parametrize(
    "name", ["priority", "kv_transfer_params", "vllm_xargs", "cache_salt", "request_id"]
)
def test_settings_cannot_hand_the_gateways_own_fields_to_clients(name: str) -> None:
    with pytest.raises(ValidationError, match=f"engine_fields: {name} may not be set by clients"):
        settings(engine_fields=["top_k", name])


@pytest.mark.parametrize("team", ["search", 'a "b" \\ {}', "団体", "\u2028"])
@pytest.mark.parametrize("end", ["", " \n\r\t"])
def test_the_salt_is_all_that_is_added(team: str, end: str) -> None:
    fields = {"model": "small", "messages": HI, "user": "}"}
    request = parse("chat", (json.dumps(fields) + end).encode(), ()).with_salt(team)
    assert request.fields == json.loads(request.raw) == {**fields, "cache_salt": team}


async def test_a_stream_that_breaks_off_goes_on_under_its_salt(bare: System) -> None:
    first, second = [await bare.add(FakeEngine(), name=name) for name in "ab"]
    for engine in (first, second):
        engine.dies_after = 3
    bare.govern(Governance(TeamByHeader()))
    bare.configure(failover={"max_attempts": 2, "hedge_share": 0})
    await bare.post(
        {"model": "small", "prompt": "Hi", "stream": True}, PATHS["completions"], headers=SEARCH
    )
    bodies = first.generations + second.generations
    assert len(bodies) > 1
    assert {body["cache_salt"] for body in bodies} == {"search"}


def test_equal_prompts_of_two_teams_are_no_common_prefix() -> None:
    exchange: Any = SimpleNamespace(account=None, headers={})
    long = [{"role": "user", "content": "the same beginning " * 100}]
    request = parse("chat", json.dumps({"model": "small", "messages": long}).encode(), ())
    ours, theirs, again = [
        job_of(exchange, request.with_salt(team)).blocks for team in ("search", "ads", "search")
    ]
    assert ours == again
    assert ours != theirs
