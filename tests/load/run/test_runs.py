"""Runs against the mock: what is sent is recorded, and what goes wrong is named."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
from msgspec.structs import replace

from turnout_load.errors import BadOption
from turnout_load.live import Snapshot
from turnout_load.record import UNKNOWN
from turnout_load.records import Records
from turnout_load.run.processes import run_processes
from turnout_load.run.worker import Outcome, Worker
from turnout_load.spec import Spec, Target, Workload


def spec(url: str, model: str = "m", requests: int = 4, **workload: object) -> Spec:
    rate = {"rate": 100.0, "output_tokens": "fixed:8", **workload}
    return Spec(
        target=Target(url=url, model=model, stall_timeout_s=3, request_timeout_s=30),
        workload=Workload(**rate),  # type: ignore[arg-type]
        requests=requests,
    )


async def run(what: Spec) -> Outcome:
    """Runs a spec in this process."""
    return await Worker(what, 0, 1).run(time.time_ns())


@contextmanager
def echo_server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server of the standard library that keeps the bodies it was sent and counts answers."""
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            delta = {"choices": [{"delta": {"content": f"answer {len(bodies)}"}}]}
            stream = f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n".encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(stream)))
            self.end_headers()
            self.wfile.write(stream)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", bodies
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


@asynccontextmanager
async def raw_server(
    answer: bytes, dies_at: int | None = None
) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that sends these bytes to every request; at `dies_at` it closes, late, instead."""
    asked: list[bytes] = []
    served: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            asked.append(await reader.readexactly(length))
            if len(asked) == dies_at:
                await asyncio.sleep(0.5)
                break
            writer.write(answer)
            await writer.drain()
            if b"connection: close" in answer:
                break

    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.add(cast("asyncio.Task[None]", asyncio.current_task()))
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await serve(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(quietly, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", asked
        await asyncio.gather(*served)


def of(records: Records, column: str) -> set[object]:
    return set(records.column(column))


async def test_a_stream_is_timed_counted_and_named(mock: str) -> None:
    records = (await run(spec(mock, requests=6))).records
    assert (len(records), of(records, "error"), of(records, "status")) == (6, {""}, {200})
    assert of(records, "output_tokens") == {8}
    assert of(records, "chunks") == {8}
    assert records.gaps.count == 6 * 7
    for record in records:
        assert record.model == "m"
        times = (record.intended_ns, record.sent_ns, record.first_ns, record.last_ns, record.end_ns)
        assert list(times) == sorted(times)
        assert record.first_ns - record.sent_ns >= 19_000_000  # it takes the mock 20 ms
        assert record.last_ns - record.sent_ns >= 33_000_000  # and 7 times 2 ms
    assert sorted(record.intended_ns for record in records) == [
        each * 10_000_000 for each in range(6)
    ]


async def test_an_answer_that_is_not_streamed_has_no_first_token(mock: str) -> None:
    what = spec(mock)
    target = replace(what.target, stream=False)
    records = (await run(replace(what, target=target))).records
    assert (of(records, "error"), of(records, "first_ns")) == ({""}, {UNKNOWN})
    assert of(records, "output_tokens") == {8}


async def test_text_completions_are_measured_too(mock: str) -> None:
    what = spec(mock)
    target = replace(what.target, endpoint="completions")
    records = (await run(replace(what, target=target))).records
    assert (of(records, "error"), of(records, "chunks")) == ({""}, {8})


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("mock:401", "http 401"),
        ("mock:429", "http 429"),
        ("mock:500", "http 500"),
        ("mock:stall", "stalled"),
        ("mock:cut", "closed"),
        ("mock:half-json", "bad_sse"),
        ("mock:not-sse", "bad_json"),
        ("mock:error-event", "error_event"),
        ("mock:no-done", "bad_sse"),
        ("mock:empty", "no_content"),
    ],
)
async def test_what_goes_wrong_is_named_and_the_run_goes_on(
    mock: str, fault: str, kind: str
) -> None:
    records = (await run(spec(mock, fault))).records
    assert (len(records), of(records, "error")) == (4, {kind})
    assert all(record.detail and record.end_ns > record.intended_ns for record in records)


@pytest.mark.parametrize("oddity", ["mock:split", "mock:slow-headers", "mock:refuse-keepalive"])
async def test_what_is_odd_but_right_is_understood(mock: str, oddity: str) -> None:
    records = (await run(spec(mock, oddity))).records
    assert (of(records, "error"), of(records, "output_tokens")) == ({""}, {8})


async def test_a_server_that_is_not_there_is_named() -> None:
    records = (await run(spec("http://127.0.0.1:9/v1"))).records
    assert of(records, "error") == {"connect"}
    assert "Connection refused" in records[0].detail or "Connect call failed" in records[0].detail


async def test_a_connection_is_used_again(mock: str) -> None:
    outcome = await run(spec(mock, requests=5, rate=5.0))
    assert outcome.connections_opened == 1
    assert list(outcome.records.column("connected")) == [1, 0, 0, 0, 0]


async def test_users_of_a_closed_loop_wait_for_their_answers(mock: str) -> None:
    outcome = await run(spec(mock, requests=9, arrivals="closed", users=3))
    assert (len(outcome.records), outcome.peak_in_flight) == (9, 3)
    assert of(outcome.records, "error") == {""}


async def test_later_turns_hold_the_answers_before_them() -> None:
    with echo_server() as (url, bodies):
        what = spec(url, requests=1, turns="fixed:3", think_time_s="fixed:0.05", history="live")
        records = (await run(what)).records
    assert [record.turn for record in records] == [0, 1, 2]
    roles = [[message["role"] for message in body["messages"]] for body in bodies]
    assert roles == [["user"], ["user", "assistant", "user"], ["user", "assistant"] * 2 + ["user"]]
    assert bodies[2]["messages"][3]["content"] == "answer 2"
    waited_ns = records[1].intended_ns - records[0].end_ns
    assert waited_ns >= 50_000_000


async def test_a_stop_keeps_what_was_measured(mock: str) -> None:
    worker = Worker(spec(mock, requests=1000, rate=200.0), 0, 1)
    running = asyncio.create_task(worker.run(time.time_ns()))
    while (told := worker.snapshot()) is None or told.ok < 20:
        await asyncio.sleep(0.02)
    worker.stop()
    outcome = await running
    assert outcome.was_stopped
    kinds = of(outcome.records, "error")
    assert kinds <= {"", "unfinished"}
    assert 20 <= len(outcome.records) < 1000


def test_processes_share_the_plan(mock: str) -> None:
    told: list[Snapshot] = []
    what = replace(spec(mock, requests=90, rate=100.0), processes=2)
    outcomes, _ = run_processes(what, told.append)
    indices = [sorted(outcome.records.column("index")) for outcome in outcomes]
    assert indices == [list(range(0, 90, 2)), list(range(1, 90, 2))]
    assert all(of(outcome.records, "error") == {""} for outcome in outcomes)
    assert told
    assert told[-1].ok > 0


def test_an_outcome_larger_than_a_pipe_comes_whole(mock: str) -> None:
    what = spec(mock, requests=4000, rate=1500.0, input_tokens="fixed:4")
    target = replace(what.target, stream=False)
    [outcome], _ = run_processes(replace(what, target=target), lambda _: None)
    assert len(outcome.records) == 4000


def test_a_refusal_within_a_process_is_told_as_it_is(mock: str) -> None:
    with pytest.raises(BadOption, match="--input-tokens 'many'"):
        run_processes(spec(mock, input_tokens="many"), lambda _: None)


async def test_an_interim_answer_is_not_the_answer() -> None:
    stream = b'data: {"choices": [{"delta": {"content": "x"}}]}\n\ndata: [DONE]\n\n'
    head = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n"
    head += b"content-type: text/event-stream\r\nconnection: close\r\n\r\n"
    async with raw_server(head + stream) as (url, asked):
        records = (await run(spec(url, requests=1))).records
    assert (records[0].status, records[0].error, len(asked)) == (200, "", 1)


async def test_a_server_that_dies_on_a_request_is_not_asked_again() -> None:
    """Its second request on each connection gets no answer, half a second later."""
    answer = b'{"choices": [{"message": {"content": "x"}}]}'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    async with raw_server(head % len(answer) + answer, dies_at=2) as (url, asked):
        records = (await run(spec(url, requests=2, rate=5.0))).records
    assert [record.error for record in records] == ["", "closed"]
    assert len(asked) == 2


async def test_requests_beyond_the_connections_wait_in_order(mock: str) -> None:
    what = replace(spec(mock, requests=6, rate=1000.0), max_connections=2)
    outcome = await run(what)
    by_index = sorted(outcome.records, key=lambda record: record.index)
    assert of(outcome.records, "error") == {""}
    assert outcome.connections_opened == 2
    sent = [record.sent_ns for record in by_index]
    assert sent == sorted(sent)
    assert by_index[5].sent_ns - by_index[5].intended_ns > 40_000_000  # two answers before it


async def test_a_request_that_takes_too_long_is_given_up(mock: str) -> None:
    what = spec(mock, requests=1, output_tokens="fixed:1000")
    target = replace(what.target, request_timeout_s=0.5)
    records = (await run(replace(what, target=target))).records
    assert (records[0].error, records[0].detail) == ("timeout", "not answered within 0.5 s")
    assert records.gaps.count == 0  # its gaps are in no figure


async def test_warm_up_gaps_are_in_no_figure(mock: str) -> None:
    outcome = await run(replace(spec(mock, requests=4, rate=10.0), warm_up_s=0.15))
    assert len(outcome.records) == 4
    assert outcome.records.gaps.count == 2 * 7  # of those meant for 0.2 and 0.3 s


async def test_a_key_that_the_server_repeats_is_blanked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    body = b'{"error": {"message": "no such key: sk-secret\\u001b[2J"}}'
    head = b"HTTP/1.1 401 X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    async with raw_server(head % len(body) + body) as (url, _):
        records = (await run(spec(url, requests=1))).records
    assert records[0].detail == "no such key: *** [2J"


async def test_a_host_that_no_name_can_have_is_told() -> None:
    records = (await run(spec("http://a..b/v1", requests=1))).records
    assert records[0].error == "connect"
    assert "is no host name" in records[0].detail
