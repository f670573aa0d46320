from __future__ import annotations

import json
import socket
import subprocess
import sys
import time

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings

ASK: list[ChatCompletionMessageParam] = [{"role": "user", "content": "four words are here"}]
SAID = " the train takes a turnout onto"


def test_a_whole_chat_answer_is_what_openais_client_expects(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="any", messages=ASK)
    assert answer.choices[0].message.content == SAID
    assert answer.choices[0].finish_reason == "length"
    assert answer.model == "any"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (4, 6)
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 2


def test_a_chat_stream_names_the_role_then_says_a_token_a_chunk(client: openai.OpenAI) -> None:
    with client.chat.completions.create(model="any", messages=ASK, stream=True) as stream:
        chunks = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert (deltas[0].role, deltas[0].content) == ("assistant", "")
    assert [delta.content for delta in deltas[1:]] == [f" {word}" for word in SAID.split()]
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * 6 + ["length"]
    assert len({chunk.id for chunk in chunks}) == 1


def test_a_stream_tells_its_usage_only_when_asked(client: openai.OpenAI) -> None:
    with client.completions.create(
        model="any",
        prompt="one two",
        max_tokens=3,
        stream=True,
        stream_options={"include_usage": True},
    ) as stream:
        *said, last = list(stream)
    assert "".join(chunk.choices[0].text for chunk in said) == " the train takes"
    assert all(chunk.usage is None for chunk in said)
    assert not last.choices
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (2, 3)


@pytest.mark.parametrize(
    ("prompt", "tokens"), [("a b c", 3), ([101, 7, 9], 3), (["a b", "c"], 3), ("", 0)]
)
def test_a_prompt_counts_its_words_or_its_token_ids(
    http: httpx.Client, prompt: object, tokens: int
) -> None:
    answer = http.post("/v1/completions", json={"model": "m", "prompt": prompt})
    assert answer.json()["usage"]["prompt_tokens"] == tokens


def test_texts_among_the_parts_of_a_message_count_too(http: httpx.Client) -> None:
    parts = [{"type": "text", "text": "two words"}, {"type": "image_url", "image_url": {}}]
    body = {"model": "m", "messages": [{"role": "user", "content": parts}], "max_tokens": 1}
    assert http.post("/v1/chat/completions", json=body).json()["usage"]["prompt_tokens"] == 2


def test_max_completion_tokens_goes_before_max_tokens(http: httpx.Client) -> None:
    body = {"model": "m", "prompt": "x", "max_tokens": 5, "max_completion_tokens": 2}
    assert http.post("/v1/completions", json=body).json()["usage"]["completion_tokens"] == 2


def test_an_answer_of_no_token_is_a_stream_with_an_end_and_no_text(client: openai.OpenAI) -> None:
    with client.completions.create(model="m", prompt="x", max_tokens=0, stream=True) as stream:
        (only,) = list(stream)
    assert (only.choices[0].text, only.choices[0].finish_reason) == ("", "length")


def test_several_tokens_come_in_a_chunk_when_so_set() -> None:
    settings = MockSettings(ttft_ms=0, itl_ms=0, tokens=5, tokens_per_chunk=2, role_chunk=False)
    with started(settings) as address, httpx.Client(base_url=address) as http:
        answer = http.post("/v1/chat/completions", json={"model": "m", "stream": True})
    *events, done = answer.text.removesuffix("\n\n").split("\n\n")
    assert done == "data: [DONE]"
    said = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"] for event in events]
    assert said == [{"content": " the train"}, {"content": " takes a"}, {"content": " turnout"}]


def test_requests_have_ids_of_their_own_and_equal_bodies_the_same_model(
    http: httpx.Client,
) -> None:
    bodies = [{"model": "m", "prompt": f"question {number}"} for number in range(20)]
    answers = [http.post("/v1/completions", json=body) for body in bodies * 2]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 40
    models = [answer.headers["x-turnout-model"] for answer in answers]
    assert models[:20] == models[20:]
    assert set(models) == {"small", "large"}


def test_connections_are_kept_and_bodies_may_come_in_pieces(http: httpx.Client) -> None:
    body = json.dumps({"model": "m", "prompt": "x", "max_tokens": 1}).encode()
    pieces = [body[:7], body[7:]]
    for _ in range(3):
        answer = http.post("/v1/completions", content=iter(pieces))
        assert answer.json()["usage"]["completion_tokens"] == 1
        assert "connection" not in answer.headers


def test_a_request_may_be_cut_anywhere(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"GET /v1/models HTTP/1.1\r\nhost: m\r\nconnection: close\r\n\r\n":
            connection.send(bytes([byte]))
            time.sleep(0.001)  # or the kernel joins them
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"]}")


def test_what_is_not_http_is_refused_and_hung_up_on(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"\x16\x03\x01 this is TLS\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_the_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["small", "large"]


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/v1/completions", b'{"model": ', 400),
        ("POST", "/v1/completions", b'{"prompt": "no model"}', 400),
        ("GET", "/v1/completions", b"", 405),
        ("GET", "/elsewhere", b"", 404),
    ],
)
def test_what_is_wrong_is_refused_with_an_error_object(
    http: httpx.Client, method: str, path: str, content: bytes, status: int
) -> None:
    answer = http.request(method, path, content=content)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == status


def test_a_taken_port_is_told_in_one_line(address: str) -> None:
    settings = json.dumps({"port": int(address.rpartition(":")[2])})
    command = [sys.executable, "-m", "turnout_load.mock", settings]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("--port '127.0.0.1:")
    assert done.stderr.count("\n") == 1
