from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

STREAM = {"prompt": "two words", "max_tokens": 6, "stream": True}
Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(http: httpx.Client) -> Ask:
    def ask(fault: str, path: str = "/v1/completions", **more: object) -> httpx.Response:
        return http.post(path, json={**STREAM, "model": f"mock:{fault}", **more}, timeout=5)

    return ask


def events(answer: httpx.Response) -> list[str]:
    return [event.removeprefix("data: ") for event in answer.text.split("\n\n") if event]


def texts(answer: httpx.Response) -> list[str]:
    read = [json.loads(event) for event in events(answer) if event != "[DONE]"]
    return [chunk["choices"][0]["text"] for chunk in read if chunk.get("choices")]


def received(address: str, fault: str) -> bytes:
    """Returns an answer's raw bytes until the mock closes the connection."""
    body = json.dumps({**STREAM, "model": f"mock:{fault}"}).encode()
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(
            b"POST /v1/completions HTTP/1.1\r\nhost: m\r\ncontent-length: %d\r\n\r\n" % len(body)
        )
        connection.sendall(body)
        return b"".join(iter(lambda: connection.recv(4096), b""))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("401", openai.AuthenticationError),
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("nonsense", openai.NotFoundError),
    ],
)
def test_a_status_is_the_error_that_openais_client_knows(
    client: openai.OpenAI, name: str, error: type[openai.APIStatusError]
) -> None:
    with pytest.raises(error) as refused:
        client.completions.create(model=f"mock:{name}", prompt="x")
    assert ("retry-after" in refused.value.response.headers) == (name == "429")


def test_a_stalled_stream_says_three_tokens_and_then_nothing(http: httpx.Client) -> None:
    said = b""
    body = {**STREAM, "model": "mock:stall"}
    more: Any = {"timeout": httpx.Timeout(10, read=1), "headers": {"connection": "close"}}
    with http.stream("POST", "/v1/completions", json=body, **more) as answer:
        arriving = answer.iter_raw()
        while said.count(b'"text":') < 3:
            said += next(arriving)
        with pytest.raises(httpx.ReadTimeout):
            next(arriving)
    assert said.count(b'"text":') == 3
    assert b"[DONE]" not in said


def test_a_cut_stream_ends_within_a_chunk(ask: Ask, address: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
        ask("cut")
    raw = received(address, "cut")
    size, _, rest = raw.rpartition(b"data: ")[0].rpartition(b"\r\n")[0].rpartition(b"\r\n")
    assert raw.count(b'"text":') == 3
    assert int(rest or size, 16) > len(raw.rpartition(b"\r\n")[2]) > 0


def test_a_cut_or_stalled_whole_answer_lacks_its_end(ask: Ask) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        ask("cut", stream=False)


def test_half_json_stands_among_good_events(ask: Ask) -> None:
    said = events(ask("half-json"))
    assert said[-1] == "[DONE]"
    broken = [event for event in said[:-1] if not is_json(event)]
    assert len(broken) == 1
    assert len(said) == 6 + 2


def test_half_json_breaks_a_whole_answer(ask: Ask) -> None:
    answer = ask("half-json", stream=False)
    assert answer.status_code == 200
    assert not is_json(answer.text)


def test_not_sse_is_a_web_page_with_status_200(ask: Ask) -> None:
    answer = ask("not-sse")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html")
    assert answer.text.startswith("<!doctype html>")


def test_an_error_event_follows_three_tokens(ask: Ask, client: openai.OpenAI) -> None:
    answer = ask("error-event")
    assert texts(answer) == [" the", " train", " takes"]
    assert "error" in json.loads(events(answer)[-2])
    with (
        pytest.raises(openai.APIError, match="the engine died"),
        client.completions.create(model="mock:error-event", prompt="x", stream=True) as stream,
    ):
        list(stream)


def test_no_done_ends_properly_but_for_the_done(ask: Ask) -> None:
    answer = ask("no-done")
    assert len(texts(answer)) == 6
    assert "[DONE]" not in answer.text


@pytest.mark.parametrize("stream", [True, False])
def test_empty_is_200_without_a_byte(ask: Ask, stream: bool) -> None:
    answer = ask("empty", stream=stream)
    assert (answer.status_code, answer.content) == (200, b"")


def test_an_early_role_comes_alone_before_the_first_token(http: httpx.Client) -> None:
    body = {"model": "mock:early-role", "stream": True, "max_tokens": 2}
    with http.stream("POST", "/v1/chat/completions", json=body) as answer:
        first, *_ = list(answer.iter_raw())
    assert first.count(b"data: ") == 1
    assert b'"role":"assistant"' in first


@pytest.mark.parametrize("stream", [True, False])
def test_slow_headers_come_in_two_parts_and_whole(ask: Ask, address: str, stream: bool) -> None:
    answer = ask("slow-headers", stream=stream)
    assert answer.headers["x-request-id"].startswith("mock-")
    assert len(texts(answer) if stream else answer.json()["choices"][0]["text"].split()) == 6
    host, port = address.removeprefix("http://").split(":")
    body = json.dumps({**STREAM, "stream": stream, "model": "mock:slow-headers"}).encode()
    head = b"POST /v1/completions HTTP/1.1\r\nhost: m\r\ncontent-length: %d\r\n\r\n" % len(body)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head + body)
        assert b"\r\n\r\n" not in connection.recv(4096)


def test_refuse_keepalive_says_so_and_closes(ask: Ask, address: str) -> None:
    assert ask("refuse-keepalive").headers["connection"] == "close"
    assert received(address, "refuse-keepalive").endswith(b"0\r\n\r\n")


def test_a_split_stream_is_valid_for_openais_client(client: openai.OpenAI) -> None:
    with client.chat.completions.create(
        model="mock:split",
        messages=[{"role": "user", "content": "x"}],
        stream=True,
        stream_options={"include_usage": True},
    ) as stream:
        *said, last = list(stream)
    text = [chunk.choices[0].delta.content or "" for chunk in said]
    assert "".join(text) == "".join(
        f"\N{STEAM LOCOMOTIVE}列車é {word}"
        for word in ("the", "train", "takes", "a", "turnout", "onto")
    )
    assert last.usage is not None
    assert last.usage.completion_tokens == 6


def test_a_split_stream_cuts_characters_and_events_and_has_every_form_of_line(
    http: httpx.Client,
) -> None:
    body = {**STREAM, "model": "mock:split"}
    with http.stream("POST", "/v1/completions", json=body) as answer:
        pieces = list(answer.iter_raw())
    whole = b"".join(pieces).decode()
    assert whole.count("\n") == whole.count("\r\n")
    assert whole.count(": a comment\r\n") == 6
    assert whole.count(',\r\ndata: "choices"') == 6
    assert len(pieces) > 12
    assert any(not is_text(piece) for piece in pieces)


def test_a_good_model_is_not_disturbed_by_any_of_them(client: openai.OpenAI) -> None:
    answer = client.completions.create(model="mock", prompt="x", max_tokens=2)
    assert answer.choices[0].text == " the train"


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
