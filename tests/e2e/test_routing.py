"""`auto` sends easy prompts to small, and hard, long or demanding ones to large, and says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import System

EASY = ("What is the capital of France?", "Say hello to my friend.", "What color is the sky?")
HARD = (
    "A train leaves at 3 pm at 45 miles per hour. Two hours later another leaves at 60 miles per "
    "hour on the same track. How many hours pass before the second catches the first?",
    "Find the degree of the field extension Q(sqrt 2, sqrt 3, sqrt 18) over Q.",
)


def ask(system: System, **fields: Any) -> httpx.Response:
    body = {"model": "auto", "max_tokens": 1, **fields}
    answer = system.http.post(f"{system.url}/v1/chat/completions", json=body, timeout=300)
    assert answer.status_code == 200, answer.text
    assert answer.json()["model"] == answer.headers["x-turnout-model"]
    return answer


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize("prompt", EASY)
def test_easy_prompts_go_to_small(system: System, prompt: str) -> None:
    answer = ask(system, messages=said(prompt))
    assert answer.headers["x-turnout-model"] == "small"
    assert answer.headers["x-turnout-decision"].startswith("easy p=")


@pytest.mark.parametrize("prompt", HARD)
def test_hard_prompts_go_to_large(system: System, prompt: str) -> None:
    answer = ask(system, messages=said(prompt))
    assert answer.headers["x-turnout-model"] == "large"
    assert answer.headers["x-turnout-decision"].startswith("hard p=")


def test_long_prompts_go_to_the_model_whose_window_holds_them(system: System) -> None:
    answer = ask(system, messages=said("the sky is blue and " * 110))
    assert answer.headers["x-turnout-model"] == "large"
    assert "small window 512" in answer.headers["x-turnout-decision"]
    assert answer.json()["usage"]["prompt_tokens"] > 512


def test_a_need_that_small_lacks_goes_to_large(system: System) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    answer = ask(system, messages=said("Say hello to my friend."), tools=[tool])
    assert answer.headers["x-turnout-model"] == "large"
    assert answer.headers["x-turnout-decision"] == "needs tools"


def test_the_models_page_lists_auto_models_and_aliases(system: System) -> None:
    listed = system.http.get(f"{system.url}/v1/models").json()["data"]
    windows = {entry["id"]: entry["context_window"] for entry in listed}
    chat = {"auto": None, "small": 512, "large": 8192, "coder": 8192}
    assert windows == {**chat, "all-minilm-l6-v2": 256}
    one = system.http.get(f"{system.url}/v1/models/coder").json()
    assert one["id"] == "coder"


def test_an_alias_answers_as_its_model(system: System) -> None:
    answer = ask(system, model="coder", messages=said("hi"))
    assert answer.headers["x-turnout-model"] == "large"
    assert answer.headers["x-turnout-decision"] == "requested"
