"""Keys, limits and usage on the running deployment, by the commands and the API of a user."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from tests.e2e.conftest import System

ASK = {"model": "small", "messages": [{"role": "user", "content": "Say hi."}], "max_tokens": 4}


def new_key(system: System, *more: str) -> str:
    return system.command("turnout", "keys", "create", "--quiet", *more).strip()


def ask(system: System, key: str, **fields: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {key}"}
    url = f"{system.url}/v1/chat/completions"
    return httpx.post(url, json={**ASK, **fields}, headers=headers, timeout=120)


def eventually(holds: Any, within_s: float = 30.0) -> bool:
    until = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def test_nobody_is_answered_without_a_key(system: System) -> None:
    answer = httpx.post(f"{system.url}/v1/chat/completions", json=ASK, timeout=30)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"
    assert ask(system, "sk-0123456789abcdef-" + "0" * 64).status_code == 401


def test_a_key_may_use_its_teams_models_only(system: System) -> None:
    system.command("turnout", "teams", "set", "narrow", "--model", "small")
    key = new_key(system, "--team", "narrow")
    assert ask(system, key).status_code == 200
    refused = ask(system, key, model="large")
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found")
    headers = {"authorization": f"Bearer {key}"}
    listed = httpx.get(f"{system.url}/v1/models", headers=headers, timeout=10).json()["data"]
    assert "large" not in {model["id"] for model in listed}
    assert "small" in {model["id"] for model in listed}


def test_a_rate_is_held_and_told(system: System) -> None:
    system.command("turnout", "teams", "set", "slow", "--limit", "requests_per_minute=2")
    key = new_key(system, "--team", "slow")
    answers = [ask(system, key) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["x-ratelimit-limit-requests"] == "2"
    assert answers[2].json()["error"]["code"] == "rate_limit_exceeded"
    assert 0 < int(answers[2].headers["retry-after"]) <= 60


def test_usage_is_what_the_answers_said(system: System) -> None:
    system.command("turnout", "teams", "set", "counted")
    key = new_key(system, "--team", "counted", "--scope", "inference", "--scope", "usage")
    told = [ask(system, key, max_tokens=n).json()["usage"] for n in (1, 3, 5)]
    streamed = ask(system, key, stream=True, stream_options={"include_usage": True}).text
    last = json.loads(streamed.split("\n\n")[-3].removeprefix("data: "))
    told.append(last["usage"])
    headers = {"authorization": f"Bearer {key}"}

    def total() -> dict[str, Any]:
        page = httpx.get(f"{system.url}/v1/usage?group_by=model", headers=headers, timeout=10)
        found: dict[str, Any] = page.json()["total"]
        return found

    assert eventually(lambda: total()["requests"] == len(told)), total()
    for kind in ("prompt_tokens", "completion_tokens"):
        assert total()[kind] == sum(usage[kind] for usage in told)
    table = json.loads(system.command("turnout", "usage", "--team", "counted", "--json"))
    assert table["total"]["completion_tokens"] == total()["completion_tokens"]


def test_a_revoked_key_ends_and_the_log_says_who_did_it(system: System) -> None:
    system.command("turnout", "teams", "set", "gone")
    key = new_key(system, "--team", "gone")
    assert ask(system, key).status_code == 200
    system.command("turnout", "keys", "revoke", key.split("-")[1])
    assert eventually(lambda: ask(system, key, max_tokens=1).status_code == 401)
    acts = system.command("turnout", "audit", "list", "--json")
    assert "revoke" in acts
    assert key not in acts
    assert "whole" in system.command("turnout", "audit", "verify")
