"""Batches on real engines: each line answered once, also when the gateway dies in between."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import httpx
import openai
import psutil
import pytest
from tests.e2e.waiting import within

from turnout.cluster.processes import processes_of

if TYPE_CHECKING:
    from tests.e2e.conftest import System

URL: Final = "/v1/completions"
LINES, TOKENS = 24, 24
PROMPTS = [f"The {number}. station of the line is" for number in range(LINES)]


@pytest.fixture
def batcher(system: System) -> openai.OpenAI:
    """A client of a team of its own whose key may make batches."""
    system.command("turnout", "teams", "set", "offline")
    scopes = ("--scope", "inference", "--scope", "batch", "--scope", "usage")
    key = system.command("turnout", "keys", "create", "--quiet", "--team", "offline", *scopes)
    return openai.OpenAI(base_url=f"{system.url}/v1", api_key=key.strip(), timeout=60)


def body(prompt: str) -> dict[str, Any]:
    """What is asked of the engine for a prompt."""
    return {"model": "small", "prompt": prompt, "max_tokens": TOKENS, "temperature": 0}


def submitted(client: openai.OpenAI) -> str:
    """Uploads the lines and makes a batch of them; returns its id."""
    lines = [
        json.dumps({"custom_id": prompt, "method": "POST", "url": URL, "body": body(prompt)})
        for prompt in PROMPTS
    ]
    file = client.files.create(file=("in.jsonl", "\n".join(lines).encode()), purpose="batch")
    made = client.batches.create(input_file_id=file.id, endpoint=URL, completion_window="24h")
    return made.id


def gateways(system: System) -> list[psutil.Process]:
    """Returns the processes of the gateway's replicas."""
    wanted = "ray::ServeReplica:gateway:Gateway"
    return [each for each in processes_of(system.run.id) if wanted in " ".join(each.cmdline())]


def test_a_batch_goes_on_after_its_gateway_was_killed(
    system: System, batcher: openai.OpenAI, client: openai.OpenAI
) -> None:
    batch = submitted(batcher)

    def done() -> int:
        try:
            counts = batcher.batches.retrieve(batch).request_counts
        except openai.APIError:  # while no gateway runs
            return 0
        return counts.completed if counts else 0

    assert within(120, lambda: done() >= 2)
    [gateway] = gateways(system)
    before = done()
    gateway.kill()
    assert before < LINES, "it was over too soon to be broken off"
    assert within(240, lambda: done() == LINES)
    assert within(30, lambda: batcher.batches.retrieve(batch).status == "completed")
    over = batcher.batches.retrieve(batch)
    assert over.request_counts is not None
    assert over.request_counts.failed == 0
    assert over.output_file_id is not None
    text = batcher.files.content(over.output_file_id).text
    results = [json.loads(line) for line in text.splitlines()]
    assert sorted(result["custom_id"] for result in results) == sorted(PROMPTS)
    answers = {result["custom_id"]: result["response"]["body"] for result in results}
    for prompt in PROMPTS[:2]:
        alone = client.completions.create(**body(prompt))
        assert answers[prompt]["choices"][0]["text"] == alone.choices[0].text
    tokens = sum(answer["usage"]["completion_tokens"] for answer in answers.values())
    assert within(60, lambda: charged(system, batcher) == (LINES, tokens))


def charged(system: System, client: openai.OpenAI) -> tuple[int, int]:
    """Returns how many requests the team was charged for, and the tokens they produced."""
    headers = {"authorization": f"Bearer {client.api_key}"}
    total = httpx.get(f"{system.url}/v1/usage", headers=headers, timeout=10).json()["total"]
    return total["requests"], total["completion_tokens"]
