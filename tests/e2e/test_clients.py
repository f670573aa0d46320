"""The clients product teams use get from the gateway what they would get from OpenAI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import System


CITY = [{"role": "user", "content": "Name three cities in France."}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


@pytest.mark.parametrize("model", ["small", "large"])
def test_a_stream_says_what_the_whole_answer_says(client: Any, model: str) -> None:
    whole = client.chat.completions.create(
        model=model, messages=CITY, max_tokens=24, temperature=0, seed=1
    )
    stream = client.chat.completions.create(
        model=model, messages=CITY, max_tokens=24, temperature=0, seed=1, stream=True
    )
    chunks = list(stream)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert whole.choices[0].message.content
    assert streamed == whole.choices[0].message.content
    assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason
    assert all(chunk.usage is None for chunk in chunks)
    assert {chunk.model for chunk in chunks} == {whole.model} == {model}


def test_usage_is_the_same_streamed_and_whole(client: Any) -> None:
    ask = {"model": "small", "messages": CITY, "max_tokens": 9, "temperature": 0}
    whole = client.chat.completions.create(**ask)
    chunks = list(
        client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True})
    )
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens == 9
    assert chunks[-1].usage.prompt_tokens == whole.usage.prompt_tokens > 9


def test_text_completions_answer_streamed_and_whole(client: Any) -> None:
    ask = {"model": "large", "prompt": "def add(a, b):", "max_tokens": 12, "temperature": 0}
    whole = client.completions.create(**ask)
    streamed = "".join(c.choices[0].text for c in client.completions.create(**ask, stream=True))
    assert "return" in whole.choices[0].text
    assert streamed == whole.choices[0].text


def test_n_stop_seed_and_logprobs_reach_the_engine(client: Any) -> None:
    ask = {"model": "small", "messages": CITY, "max_tokens": 8}
    several = client.chat.completions.create(**ask, n=3, temperature=1.0, seed=7)
    again = client.chat.completions.create(**ask, n=3, temperature=1.0, seed=7)
    texts = [choice.message.content for choice in several.choices]
    assert len(set(texts)) > 1
    assert texts == [choice.message.content for choice in again.choices]
    greedy = client.chat.completions.create(**ask, temperature=0, logprobs=True, top_logprobs=2)
    text = greedy.choices[0].message.content
    tokens = greedy.choices[0].logprobs.content
    assert "".join(token.token for token in tokens) == text
    assert all(len(token.top_logprobs) == 2 and token.logprob <= 0 for token in tokens)
    word = text.split()[2]
    stopped = client.chat.completions.create(**ask, temperature=0, stop=[word])
    assert stopped.choices[0].message.content == text[: text.index(word)]
    assert stopped.choices[0].finish_reason == "stop"


def test_a_json_schema_is_obeyed(client: Any) -> None:
    answer = client.chat.completions.create(
        model="small",
        messages=[{"role": "user", "content": "Describe Paris as JSON."}],
        max_tokens=60,
        temperature=0,
        response_format={"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}},
    )
    described = json.loads(answer.choices[0].message.content)
    assert set(described) == {"city", "people"}
    assert isinstance(described["people"], int)


def test_a_named_tool_is_called_with_its_arguments(client: Any) -> None:
    answer = client.chat.completions.create(
        model="auto",
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        max_tokens=60,
        temperature=0,
        tools=[WEATHER],
        tool_choice={"type": "function", "function": {"name": "get_weather"}},
    )
    call = answer.choices[0].message.tool_calls[0]
    assert answer.model == "large"  # small has no tools
    assert call.function.name == "get_weather"
    assert isinstance(json.loads(call.function.arguments)["city"], str)


def test_thirty_two_streams_at_once_all_finish_with_their_own_text(client: Any) -> None:
    def ask(number: int) -> tuple[str, str | None]:
        chunks = list(
            client.chat.completions.create(
                model="small" if number % 2 else "large",
                messages=[{"role": "user", "content": f"Count up from {number}."}],
                max_tokens=16,
                temperature=0,
                stream=True,
            )
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        return text, chunks[-1].choices[0].finish_reason

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(ask, range(32)))
    assert all(text and reason in ("length", "stop") for text, reason in answers)
    assert ask(3)[0] == answers[3][0]  # alone as among 32 (float32)


@pytest.fixture(scope="module")
def npm(system: System, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs a script of the folder npm with its locked packages; returns what it tells."""
    assert shutil.which("npm"), "npm is missing: install Node.js 20 or later (README.md, Test it)"
    folder = tmp_path_factory.mktemp("npm")
    for file in (Path(__file__).parent / "npm").iterdir():
        shutil.copy(file, folder)
    quiet = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts")
    subprocess.run(["npm", "ci", *quiet], cwd=folder, check=True, timeout=300)

    def run(script: str, *arguments: str) -> Any:
        done = subprocess.run(
            ["node", script, f"{system.url}/v1", *arguments],
            cwd=folder,
            env={**os.environ, "OPENAI_API_KEY": system.key, "TURNOUT_KEY": system.key},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_the_npm_client_works(npm: Callable[..., Any]) -> None:
    told = npm("ask.mjs")
    assert told["whole"] == told["streamed"]
    assert told["whole"]
    assert told["usage"]["completion_tokens"] > 0
    assert told["error"] == {"status": 404, "code": "model_not_found", "type": "NotFoundError"}


def test_the_vercel_ai_sdk_works_by_every_api(npm: Callable[..., Any]) -> None:
    told = npm("ask_ai.mjs", "large", "all-minilm-l6-v2")
    assert set(told["told"]) == {"chat", "responses", "messages", "compatible"}
    (text,) = {text for each in told["told"].values() for text in (each["whole"], each["streamed"])}
    assert text
    for each in told["told"].values():
        assert each["tokens"][0] == each["tokens"][1] > 0
        assert each["finish"][0] == each["finish"][1]
    for calls in told["called"].values():
        ((name, arguments),) = calls
        assert name == "get_weather"
        assert isinstance(arguments["city"], str)
    assert told["vectors"]["lengths"] == [384, 384]
    assert told["vectors"]["tokens"] == 6  # [CLS] red [SEP] [CLS] blue [SEP]
    assert told["error"] == {"isCall": True, "status": 404}
