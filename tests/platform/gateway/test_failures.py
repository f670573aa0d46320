"""Replicas that are gone, break off, refuse or hang: what the client gets, who is tried next."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.fake_engine import FakeEngine, error_body
from tests.platform.gateway.system import CHAT, events_of

from turnout.gateway.sse import DONE

if TYPE_CHECKING:
    from tests.platform.gateway.system import System


@pytest.fixture
def closed_port() -> str:
    """The address of a port that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return "http://{}:{}".format(*sock.getsockname())


@pytest.mark.parametrize("model", ["small", "auto"])
async def test_without_a_ready_replica_the_client_is_told_when_to_come_back(
    bare: System, model: str
) -> None:
    bare.configure(limits={"retry_after_s": 7})
    answer = await bare.chat(model)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "7"
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("server_error", "no_ready_replica")


async def test_auto_uses_large_while_small_is_away(system: System) -> None:
    del system.table.by_model["small"]
    answer = await system.chat("auto")
    assert answer.headers["x-turnout-model"] == "large"
    assert answer.headers["x-turnout-decision"] == "only large is ready"


@pytest.mark.parametrize("stream", [False, True])
async def test_another_replica_answers_when_one_refuses_connections(
    bare: System, closed_port: str, stream: bool
) -> None:
    # Streams, which can be resumed, go to spot replicas first; whole answers to reserved ones.
    first, second = ("spot", "reserved") if stream else ("reserved", "spot")
    bare.add_at(closed_port, FakeEngine(), first, 2048, "a-gone")
    alive = await bare.add(FakeEngine(), market=second, name="b-alive")
    answer = await bare.chat(stream=stream)
    assert answer.status_code == 200
    assert len(alive.received) == 1
    failures = {"model": "small", "market": first}
    assert await bare.metric("turnout_replica_failures_total", **failures) == 1


async def test_three_replicas_are_tried_and_no_more(bare: System, closed_port: str) -> None:
    for number in range(4):
        bare.add_at(closed_port, FakeEngine(), "reserved", 2048, f"gone-{number}")
    answer = await bare.chat()
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert (
        "no replica of 'small' could be reached in 3 attempts" in answer.json()["error"]["message"]
    )
    assert await bare.metric("turnout_replica_failures_total") == 3


async def test_a_whole_answer_that_breaks_on_every_replica_is_a_503(
    bare: System, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = await bare.add(FakeEngine()), await bare.add(FakeEngine())
    first.dies_after = second.dies_after = 0
    answer = await bare.chat()
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "replica_lost"
    assert answer.headers["retry-after"] == "1"
    assert (len(first.received), len(second.received)) == (1, 1)
    assert "answer_broken" in caplog.messages
    assert await bare.metric("turnout_replica_failures_total") == 2
    assert await bare.metric("turnout_retries_total", model="small") == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failure", ["dies", "500", "503", "error event"])
async def test_another_replica_answers_when_one_fails_before_its_first_token(
    bare: System, stream: bool, failure: str
) -> None:
    bad, good = await bare.add(FakeEngine(), name="a"), await bare.add(FakeEngine(), name="b")
    if failure == "dies":
        bad.dies_after = 0
    elif failure == "error event":
        bad.events = lambda path, body: [b"data: " + error_body("dead", 500) + b"\n\n", DONE]
        bad.answer = None if stream else (500, error_body("dead", 500))
    else:
        bad.answer = (int(failure), error_body("dead", int(failure)))
    for _ in range(4):  # whichever comes first
        answer = await bare.chat(stream=stream)
        assert answer.status_code == 200
        assert "error" not in answer.text
    assert len(good.received) == 4


async def test_a_request_that_is_wrong_is_not_sent_again(bare: System) -> None:
    engines = [await bare.add(FakeEngine()), await bare.add(FakeEngine())]
    for engine in engines:
        engine.answer = (400, error_body("bad"))
    assert (await bare.chat()).status_code == 400
    assert sum(len(engine.received) for engine in engines) == 1


@pytest.mark.parametrize("ends", ["dies_after", "ends_after"])
async def test_a_broken_stream_ends_with_an_error_and_without_done(
    system: System, small: FakeEngine, ends: str
) -> None:
    setattr(small, ends, 3)
    answer = await system.chat(stream=True)
    assert answer.status_code == 200
    *sent, last = events_of(answer.text)
    expected = b"".join(small.events(CHAT, {})[:3]).decode()
    assert sent == events_of(expected)
    assert json.loads(last)["error"]["code"] == "replica_lost"
    assert await system.metric("turnout_requests_total", status="503") == 1


@pytest.mark.parametrize("ends", ["dies_after", "ends_after"])
async def test_an_empty_stream_is_a_503(system: System, small: FakeEngine, ends: str) -> None:
    setattr(small, ends, 0)
    answer = await system.chat(stream=True)
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "replica_lost"


async def test_half_an_event_never_reaches_the_client(system: System, small: FakeEngine) -> None:
    small.pieces = lambda data: [data[: len(data) // 2]]
    small.words, small.ends_after = (), 1
    answer = await system.chat(stream=True)
    assert answer.status_code == 503


@pytest.mark.parametrize("data", [b"<html>", b"", b"\xff"])
async def test_an_answer_that_is_no_json_is_a_503(
    system: System, small: FakeEngine, data: bytes
) -> None:
    small.answer = (200, data)
    assert (await system.chat()).json()["error"]["code"] == "replica_lost"


@pytest.mark.parametrize("data", [b"[]", b'{"usage": 3}', b'{"usage": {"prompt_tokens": "x"}}'])
async def test_odd_usage_is_passed_on_and_not_metered(
    system: System, small: FakeEngine, data: bytes
) -> None:
    small.answer = (200, data)
    answer = await system.chat()
    assert (answer.status_code, answer.content) == (200, data)
    assert await system.metric("turnout_tokens_total") == 0


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "data", "expected"),
    [
        (
            400,
            error_body("bad tool", param="tools"),
            (400, "bad tool", "invalid_request_error", "tools", None),
        ),
        (
            400,
            error_body("This model's maximum context length is 2048 tokens.", param="input_tokens"),
            (400, "This model's maximum", "invalid_request_error", "messages", "context_length"),
        ),
        (500, error_body("EngineCore died", 500), (500, "EngineCore", "server_error", None, None)),
        (
            500,
            b"Internal Server Error",
            (500, "the engine answered 500", "server_error", None, None),
        ),
        (422, b'{"detail": "x"}', (422, "x", "invalid_request_error", None, None)),
        (503, b"[]", (503, "the engine answered 503", "server_error", None, None)),
        (307, b"", (502, "the engine answered 307", "server_error", None, None)),
        (204, b"", (502, "the engine answered 204", "server_error", None, None)),
    ],
)
async def test_the_engines_errors_come_in_openais_shape(
    system: System,
    small: FakeEngine,
    stream: bool,
    status: int,
    data: bytes,
    expected: tuple[int, str, str, str | None, str | None],
) -> None:
    small.answer = (status, data)
    answer = await system.chat(stream=stream)
    error = answer.json()["error"]
    code, message, kind, param, word = expected
    assert answer.status_code == code
    assert error["message"].startswith(message)
    assert (error["type"], error["param"]) == (kind, param)
    assert (error["code"] or "").startswith(word or "")
    assert len(small.received) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_never_comes_is_a_504(
    system: System, small: FakeEngine, stream: bool
) -> None:
    system.configure(limits={"request_timeout_s": 0.2, "connect_timeout_s": 0.1})
    small.stalls = True
    answer = await system.chat(stream=stream)
    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "timeout"
    assert answer.headers["x-turnout-model"] == "small"


async def test_a_stream_that_takes_too_long_ends_with_an_error(
    system: System, small: FakeEngine
) -> None:
    system.configure(limits={"request_timeout_s": 0.5, "connect_timeout_s": 0.1})
    small.words, small.delay_s = ("x",) * 1000, 0.02
    events = events_of((await system.chat(stream=True)).text)
    assert json.loads(events[-1])["error"]["code"] == "timeout"
    assert 2 < len(events) < 500


async def test_a_body_that_never_ends_is_a_408(system: System) -> None:
    system.configure(limits={"body_timeout_s": 0.2})
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n" + "{"
    reader, writer = await system.connect(head.encode())
    assert (await asyncio.wait_for(reader.readline(), 5)).split()[1] == b"408"
    told = await asyncio.wait_for(reader.read(), 5)  # to the end: the connection is closed
    assert b'"code": "request_body_timeout"' in told
    writer.close()


async def test_a_tokenizer_that_hangs_is_a_504(system: System, small: FakeEngine) -> None:
    system.configure(limits={"request_timeout_s": 0.2, "connect_timeout_s": 0.1})
    small.stalls = True
    long: Any = [{"role": "user", "content": "x" * 3000}]
    assert (await system.chat(messages=long)).status_code == 504


async def test_a_fault_in_the_gateway_is_a_500_with_the_request_id(
    system: System, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = " ".join(("secret", "words"))

    def breaks(model: str) -> Any:
        raise LookupError(words)

    monkeypatch.setattr(system.table, "replicas", breaks)
    caplog.set_level(logging.INFO)
    answer = await system.chat()
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal_error"
    record = next(each for each in caplog.records if each.message == "gateway_fault")
    assert record.__dict__["request_id"] == answer.headers["x-request-id"]
    assert record.__dict__["request_id"] in answer.json()["error"]["message"]
    assert record.__dict__["error"] == "LookupError"
    assert "breaks" in record.__dict__["stack"]
    assert words not in f"{record.__dict__}"
    monkeypatch.undo()
