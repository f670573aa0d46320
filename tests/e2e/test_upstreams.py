"""A model that another server answers: added, used, lost and removed while the engines run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.upstream_server import UpstreamServer
from tests.e2e.waiting import within

from turnout.models.fetch import cached_model

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import System

KEY = "sk-e2e-upstream-0123456789"
ASK = {
    "messages": [{"role": "user", "content": "Write a function that adds two numbers."}],
    "max_tokens": 24,
    "temperature": 0,
}
PRICE = {"input_usd_per_million_tokens": 100.0, "output_usd_per_million_tokens": 1000.0}


def models_of(settings: dict[str, Any]) -> dict[str, Any]:
    models: dict[str, Any] = settings["applications"][0]["deployments"][0]["user_config"]["models"]
    return models


def ask(system: System, model: str, **fields: Any) -> Any:
    body = {**ASK, "model": model, **fields}
    return system.http.post(f"{system.url}/v1/chat/completions", json=body, timeout=120)


@pytest.fixture(scope="module")
def server(
    system: System, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[UpstreamServer, Path]]:
    """The small model on a server of its own, and the file with its key; removed at the end."""
    before = system.settings()
    weights = cached_model(before["applications"][1]["args"]["sources"])
    assert weights is not None
    folder = tmp_path_factory.mktemp("upstream")
    started = UpstreamServer(weights, "theirs", KEY, folder / "log")
    try:
        (folder / "key").write_text(KEY)
        started.wait()
        settings = system.settings()
        models = models_of(settings)
        models["far"] = {
            "upstream": {
                "base_url": started.url,
                "model": "theirs",
                "context_window": 512,
                "api_key_file": str(folder / "key"),
            },
            "price": PRICE,
            "fallbacks": ["small"],
        }
        models["alone"] = {"upstream": models["far"]["upstream"]}
        system.write(settings)
        system.serve_deploy()
        assert within(60, lambda: ask(system, "far", max_tokens=1).status_code == 200)
        yield started, folder / "key"
    finally:
        started.kill()
        system.write(before)
        system.serve_deploy()
        assert within(60, lambda: ask(system, "far", max_tokens=1).status_code == 404)


def test_an_upstream_says_what_the_engine_here_says(
    system: System, server: tuple[UpstreamServer, Path], client: Any
) -> None:
    here = ask(system, "small").json()["choices"][0]["message"]["content"]
    there = ask(system, "far")
    assert there.headers["x-turnout-model"] == "far"
    assert there.json()["model"] == "far"
    assert there.json()["choices"][0]["message"]["content"] == here
    chunks = list(
        client.chat.completions.create(
            **ASK, model="far", stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == here
    assert chunks[-1].usage.completion_tokens == there.json()["usage"]["completion_tokens"]
    # One in each gateway; another test may have left two of these.
    assert system.metric("turnout_replicas_ready", model="far", market="upstream") in (1, 2)


def test_its_usage_is_billed_at_its_price(
    system: System, server: tuple[UpstreamServer, Path]
) -> None:
    def spent() -> dict[str, Any]:
        page = system.http.get(f"{system.url}/v1/usage?group_by=model", timeout=10).json()
        rows = [row for row in page["data"] if row["model"] == "far"]
        return rows[0] if rows else {"list_cost_usd": 0.0, "true_cost_usd": 0.0}

    # What the tests before it asked for is written by then.
    time.sleep(2)
    before = spent()
    used = ask(system, "far").json()["usage"]
    costs = (used["prompt_tokens"] * 100 + used["completion_tokens"] * 1000) / 1e6

    def is_billed() -> bool:
        after = spent()
        return all(
            after[kind] - before[kind] == pytest.approx(costs)
            for kind in ("list_cost_usd", "true_cost_usd")
        )

    assert within(20, is_billed), (before, spent(), costs)


def test_its_loss_costs_no_answer_and_restarts_no_engine(
    system: System, server: tuple[UpstreamServer, Path]
) -> None:
    engines = system.engine_pids()
    upstream, key_file = server
    key_file.write_text("sk-wrong")
    assert within(5, lambda: ask(system, "far").headers["x-turnout-model"] == "small")
    refused = ask(system, "alone", max_tokens=1)
    assert refused.status_code in (502, 503)
    assert not any(key in refused.text for key in (KEY, "sk-wrong"))
    key_file.write_text(KEY)
    assert within(40, lambda: ask(system, "far").headers["x-turnout-model"] == "far")
    upstream.kill()
    for stream in (False, True):
        answer = ask(system, "far", stream=stream, max_tokens=4)
        assert (answer.status_code, answer.headers["x-turnout-model"]) == (200, "small")
    assert ask(system, "alone", max_tokens=1).status_code == 503
    assert system.engine_pids() == engines
    assert KEY not in system.command("turnout", "logs", "--lines", "2000")
