"""Every mistake is answered in OpenAI's shape, by the gateway or by the engine behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import System

CHAT = "/v1/chat/completions"
HI = [{"role": "user", "content": "hi"}]


def post(system: System, body: Any, path: str = CHAT) -> httpx.Response:
    content = body if isinstance(body, bytes) else None
    return system.http.post(
        system.url + path, content=content, json=None if content else body, timeout=120
    )


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        (b'{"model": "small", "messages": [', 400, None, None),
        (b"\xff\xfe", 400, None, None),
        ({"model": "small", "messages": "hi"}, 400, None, "messages"),
        ({"model": "small", "messages": [{"role": 7}]}, 400, None, "messages[0].role"),
        ({"model": "small", "messages": HI, "n": "two"}, 400, None, "n"),
        ({"messages": HI}, 400, None, "model"),
        ({"model": "small", "messages": HI, "priority": 1}, 400, "unknown_parameter", "priority"),
        ({"model": "nobody", "messages": HI}, 404, "model_not_found", "model"),
    ],
)
def test_a_wrong_request_names_what_is_wrong(
    system: System, body: Any, status: int, code: str | None, param: str | None
) -> None:
    answer = post(system, body)
    error = answer.json()["error"]
    assert answer.status_code == status
    assert (error["code"], error["param"]) == (code, param)
    assert error["type"] == "invalid_request_error"
    assert error["message"]


def test_an_unknown_model_is_told_the_known_ones(system: System) -> None:
    message = post(system, {"model": "nobody", "messages": HI}).json()["error"]["message"]
    assert all(name in message for name in ("auto", "small", "large", "coder"))


@pytest.mark.parametrize("model", ["auto", "small", "large"])
def test_a_prompt_beyond_every_window_is_refused(system: System, model: str) -> None:
    long = "seven words are repeated here again now " * 1400
    messages = [{"role": "user", "content": long}]
    answer = post(system, {"model": model, "messages": messages})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "context_length_exceeded"


def test_the_engines_own_refusal_comes_in_openais_shape(system: System) -> None:
    body = {"model": "small", "messages": HI, "response_format": {"type": "json_schema"}}
    answer = post(system, body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"


def test_the_engines_words_for_a_window_error_are_still_known(system: System) -> None:
    """Straight to the replica: `engine_error` recognizes vLLM's sentence by these words."""
    body = {"model": "small", "prompt": "word " * 5000, "max_tokens": 1}
    url = f"{system.replica_url('small')}/v1/completions"
    key = system.run_dir.replica_key_path.read_text().strip()
    answer = httpx.post(url, json=body, headers={"authorization": f"Bearer {key}"}, timeout=60)
    assert answer.status_code == 400
    assert "maximum context length" in answer.text


def test_a_replicas_own_port_answers_nobody_without_its_key(system: System) -> None:
    body = {"model": "small", "prompt": "hi", "max_tokens": 1}
    url = f"{system.replica_url('small')}/v1/completions"
    assert httpx.post(url, json=body, timeout=60).status_code == 401


def test_a_body_above_the_limit_is_refused(system: System) -> None:
    answer = post(system, b" " * (5 * 1024 * 1024))
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "request_too_large"


def test_every_answer_says_who_what_and_how_long(system: System) -> None:
    for answer in (
        post(system, {"model": "small", "messages": HI, "max_tokens": 1}),
        post(system, {"model": "nobody", "messages": HI}),
        system.http.get(system.url + "/nowhere"),
        system.http.get(system.url + "/v1/models"),
    ):
        for name in ("x-request-id", "x-turnout-model", "x-turnout-decision", "server-timing"):
            assert answer.headers.get(name), (answer.url, name)
        assert "," not in answer.headers["x-request-id"]  # once, not twice


def test_a_given_request_id_comes_back(system: System) -> None:
    answer = system.http.get(system.url + "/v1/models", headers={"x-request-id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
