"""A replica that is killed amid its streams: their clients get the unbroken run's text."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from tests.e2e.engine_metrics import running_at
from tests.e2e.waiting import within

from turnout.cluster.processes import listening, processes_of

if TYPE_CHECKING:
    from tests.e2e.conftest import System

STREAMS, TOKENS = 6, 300
PROMPTS = [f"Tell the long story of a {who}." for who in ("goat", "ship")]
NO_END = {"0": -100, "2": -100}
"""Without SmolLM2's two tokens that end an answer."""


def replicas_of_small(system: System, count: int) -> None:
    """Deploys the small model with so many replicas."""
    settings = system.settings()
    small = settings["applications"][1]["deployments"][0]
    small["autoscaling_config"] = {"min_replicas": count, "max_replicas": count}
    system.write(settings)
    system.serve_deploy()


@pytest.fixture
def second(system: System) -> Iterator[str]:
    """The address of a second replica of the small model; one is left afterwards."""
    first = system.replica_url("small")
    replicas_of_small(system, 2)
    try:
        assert within(180, lambda: len(system.replica_urls()["small"]) == 2)
        [address] = {*system.replica_urls()["small"]} - {first}
        ready = {"model": "small", "market": "reserved"}
        assert within(10, lambda: system.metric("turnout_replicas_ready", **ready) == 2)
        yield address
    finally:
        replicas_of_small(system, 1)
        assert within(60, lambda: len(system.replica_urls().get("small", [])) == 1)
        system.engines.clear()  # Serve may have kept either


def streamed(client: Any, prompt: str, begun: Barrier | None = None) -> tuple[str, int]:
    """Returns an answer's text and its tokens by the server's count; waits at `begun` once."""
    chunks = client.completions.create(
        model="small",
        prompt=prompt,
        max_tokens=TOKENS,
        temperature=0,
        logit_bias=NO_END,
        stream=True,
        stream_options={"include_usage": True},
    )
    text, tokens = "", 0
    for chunk in chunks:
        text += "".join(choice.text for choice in chunk.choices)
        tokens = chunk.usage.completion_tokens if chunk.usage else tokens
        if begun and text:
            begun.wait(timeout=60)
            begun = None
    return text, tokens


def processes_at(system: System, address: str) -> list[psutil.Process]:
    """Returns a replica's processes, its engine's first: to be looked for before time matters."""
    at = int(address.rsplit(":", 1)[1])
    [pid] = {pid for _, port, pid in listening(processes_of(system.run.id)) if port == at}
    replica = psutil.Process(pid)
    return [*replica.children(recursive=True), replica]


def test_clients_of_a_killed_replica_notice_nothing(
    system: System, client: Any, second: str
) -> None:
    unbroken = {prompt: streamed(client, prompt) for prompt in PROMPTS}
    assert [tokens for _, tokens in unbroken.values()] == [TOKENS] * len(PROMPTS)
    before = system.metric("turnout_stream_resumes_total", model="small")
    begun, doomed = Barrier(STREAMS + 1), processes_at(system, second)
    with ThreadPoolExecutor(STREAMS) as pool:
        asked = [PROMPTS[n % len(PROMPTS)] for n in range(STREAMS)]
        answers = [pool.submit(streamed, client, prompt, begun) for prompt in asked]
        begun.wait(timeout=60)  # every client has text by now
        assert running_at(second) > 0
        for process in doomed:  # at once, as when a machine is lost
            process.kill()
        assert [answer.result() for answer in answers] == [unbroken[prompt] for prompt in asked]
    assert system.metric("turnout_stream_resumes_total", model="small") > before
