"""A replica that is killed amid its streams: nobody notices, and the text is the unbroken one's."""

from __future__ import annotations

import copy
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import httpx
import psutil
import pytest

from turnout.cluster.engines import engine_addresses
from turnout.cluster.processes import listening, processes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.conftest import System

START_S = 180
STREAMS = 4
TOKENS = 96
END_TOKEN = "2"
"""SmolLM2's, held off so that every answer is long enough to be killed amid."""
PROMPTS = [f"Tell the story of a {who} in many words." for who in ("goat", "ship", "train", "cook")]


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.2)
    return False


def small_engines(system: System) -> list[str]:
    return engine_addresses(processes_of(system.run.id)).get("small", [])


def scale(system: System, settings: dict[str, Any], replicas: int) -> None:
    system.write(settings)
    system.command("turnout", "up", str(system.config))
    assert within(START_S, lambda: len(small_engines(system)) == replicas)
    system.engines.clear()  # another one may be left than was there before


@pytest.fixture(scope="module")
def two_replicas(system: System) -> Iterator[None]:
    """Two replicas of small instead of one, for the tests here."""
    before = system.settings()
    settings = copy.deepcopy(before)
    small = next(each for each in settings["applications"] if each["name"] == "small")
    small["deployments"][0]["autoscaling_config"] = {"min_replicas": 2, "max_replicas": 2}
    scale(system, settings, 2)
    yield
    scale(system, before, 1)


def streamed(client: Any, prompt: str, first: Callable[[], None] = lambda: None) -> tuple[str, Any]:
    """Returns a greedy answer's text and usage; calls `first` at its first text."""
    text, usage = "", cast(Any, None)
    for chunk in client.chat.completions.create(
        model="small",
        messages=[{"role": "user", "content": prompt}],
        max_tokens=TOKENS,
        temperature=0,
        logit_bias={END_TOKEN: -100},
        stream=True,
        stream_options={"include_usage": True},
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            if choice.delta.content and not text:
                first()
            text += choice.delta.content or ""
    assert usage is not None
    return text, (usage.prompt_tokens, usage.completion_tokens)


def running(address: str) -> float:
    page = httpx.get(f"{address}/metrics", timeout=5).text
    lines = [each for each in page.splitlines() if each.startswith("vllm:num_requests_running{")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def kill(system: System, address: str) -> None:
    """Kills the replica at an address, with its engine, as a machine that is gone does."""
    port = int(address.rsplit(":", 1)[1])
    found = listening(processes_of(system.run.id))
    replica = psutil.Process(next(pid for _host, at, pid in found if at == port))
    for process in (*replica.children(recursive=True), replica):
        process.kill()


@pytest.mark.usefixtures("two_replicas")
def test_streams_survive_their_replica_with_the_same_text(system: System, client: Any) -> None:
    unbroken = [streamed(client, prompt) for prompt in PROMPTS]
    assert [usage[1] for _text, usage in unbroken] == [TOKENS] * STREAMS
    begun = threading.Barrier(STREAMS + 1, timeout=120)

    def begin() -> None:
        begun.wait()

    with ThreadPoolExecutor(STREAMS) as pool:
        answers = [pool.submit(streamed, client, prompt, begin) for prompt in PROMPTS]
        begun.wait()
        busiest = max(small_engines(system), key=running)
        assert running(busiest) > 0
        kill(system, busiest)
        assert [answer.result(timeout=240) for answer in answers] == unbroken
    page = httpx.get(f"{system.url}/metrics", timeout=10).text
    resumed = [each for each in page.splitlines() if each.startswith("turnout_stream_resumes_t")]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in resumed) > 0
    assert within(START_S, lambda: len(small_engines(system)) == 2)
