"""Clients that break HTTP, go slow or never read: a 4xx or a closed connection, nothing left."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.platform.gateway.system import CHAT, http_post

if TYPE_CHECKING:
    from tests.platform.gateway.fuzz.conftest import Served

GOOD = b'{"model":"small","messages":[{"role":"user","content":"easy"}]}'
POST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"
SIZED = POST + b"content-length: %d\r\n\r\n" % len(GOOD)
CLOSE = b"connection: close\r\n"
quick = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def got(served: Served, data: bytes, *, ends: bool = True) -> list[int]:
    from tests.platform.gateway.fuzz.conftest import statuses  # noqa: PLC0415 - loaded by then

    return statuses(served.ask(data, ends=ends))


def is_refused(statuses: list[int]) -> bool:
    """Whether the client was told what is wrong, or found the connection closed."""
    return all(400 <= status < 500 for status in statuses)


REFUSED = {
    "binary": b"\x00\x01\x02\xff\r\n\r\n",
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x07" * 40,
    "HTTP/2 with prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": b"GET /v1/models\r\n",
    "HTTP/9.9": b"GET /v1/models HTTP/9.9\r\nhost: x\r\n\r\n",
    "no version": b"GET /v1/models FTP/1.1\r\n\r\n",
    "an unknown method": b"BREW /v1/models HTTP/1.1\r\nhost: x\r\n" + CLOSE + b"\r\n",
    "CONNECT": b"CONNECT 10.0.0.1:22 HTTP/1.1\r\nhost: 10.0.0.1:22\r\n" + CLOSE + b"\r\n",
    "OPTIONS *": b"OPTIONS * HTTP/1.1\r\nhost: x\r\n" + CLOSE + b"\r\n",
    "a whole URL of another host": b"GET http://10.0.0.1/x HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "a path of another encoding": b"GET /v1/\xff\xfe HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "a path that leaves": b"GET /v1/models/../../../etc/passwd HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "an escaped zero": b"GET /v1/models/%00%ff%0d%0a HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "a websocket": (
        b"GET /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n"
        b"upgrade: websocket\r\nsec-websocket-version: 13\r\n"
        b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    ),
    "an upgrade to HTTP/2": (
        b"GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: h2c\r\n\r\n"
    ),
    "two lengths": POST + b"content-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
    "two equal lengths": POST + b"content-length: 2\r\ncontent-length: 2\r\n" + CLOSE + b"\r\n{}",
    "a list of lengths": POST + b"content-length: 2, 2\r\n\r\n{}",
    "length and chunks": POST
    + b"content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
    "chunks not last": POST
    + b"transfer-encoding: chunked, identity\r\n"
    + CLOSE
    + b"\r\n2\r\n{}\r\n0\r\n\r\n",
    "a hidden encoding": POST + b"transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
    "an unknown encoding": POST + b"transfer-encoding: xchunked\r\n" + CLOSE + b"\r\n0\r\n\r\n",
    "a negative length": POST + b"content-length: -1\r\n\r\n",
    "a signed length": POST + b"content-length: +2\r\n\r\n{}",
    "a length above 64 bits": POST + b"content-length: 99999999999999999999\r\n\r\n{}",
    "a length of 5,000 digits": POST + b"content-length: " + b"9" * 5000 + b"\r\n\r\n{}",
    "a length above the limit": POST + b"content-length: 1048577\r\n" + CLOSE + b"\r\n",
    "a folded header": POST + b"x: a\r\n b\r\ncontent-length: 2\r\n" + CLOSE + b"\r\n{}",
    "a header without a name": POST + b": v\r\n\r\n",
    "a header without a colon": POST + b"nonsense\r\n\r\n",
    "a zero in a header": POST + b"x: a\x00b\r\n\r\n",
    "a bare line feed": b"POST /v1/chat/completions HTTP/1.1\nhost: x\n\n",
    "a bare return": POST + b"x: a\rb\r\n\r\n",
    "a chunk without a size": CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
    "a chunk of 2^64 bytes": CHUNKED + b"ffffffffffffffffff\r\n{}",
    "a chunk longer than told": CHUNKED + b"2\r\n{}{}\r\n0\r\n\r\n",
    "a chunked body cut off": CHUNKED + b"ff\r\n" + GOOD[:20],
    "a chunked body without an end": CHUNKED + b"2\r\n{}\r\n",
    "chunks above the limit": CHUNKED + (b"10000\r\n" + b" " * 65536 + b"\r\n") * 20,
    "a body cut off": SIZED + GOOD[:-1],
    "a head cut off": POST + b"content-le",
    "an endless path": b"GET /" + b"a" * 400_000 + b" HTTP/1.1\r\n\r\n",
    "an endless method": b"G" * 400_000,
    "an endless header": POST + b"x: " + b"a" * 10_000_000 + b"\r\n\r\n",
    "an endless name": POST + b"x" * 400_000 + b": a\r\n\r\n",
    "ten thousand headers": POST + b"".join(b"x-%d: y\r\n" % n for n in range(10_000)) + b"\r\n",
    "many headers in a small head": POST + b"a:\r\n" * 101 + b"\r\n",
    "headers after the body": CHUNKED + b"0\r\n" + b"x: y\r\n" * 10_000 + b"\r\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_request_is_refused_or_closed(served: Served, name: str) -> None:
    assert is_refused(got(served, REFUSED[name]))
    served.check_at_rest()


@pytest.mark.parametrize("header", [b"x: y", b"authorization: Bearer sk-a", b"x-request-id: \xff"])
def test_headers_that_come_twice_are_taken(served: Served, header: bytes) -> None:
    length = b"content-length: %d\r\n" % len(GOOD)
    twice = POST + (header + b"\r\n") * 2 + length + CLOSE + b"\r\n" + GOOD
    assert got(served, twice, ends=False) == [200]


def test_a_head_above_its_bounds_is_told_so(served: Served) -> None:
    assert got(served, REFUSED["an endless header"], ends=False) == [431]
    assert got(served, REFUSED["many headers in a small head"], ends=False) == [431]


@quick
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_closed(served: Served, data: bytes) -> None:
    assert is_refused(got(served, data))


@quick
@given(st.integers(0, len(CHUNKED) + 4), st.binary(min_size=1, max_size=4))
def test_any_bytes_in_a_request_are_answered_or_closed(
    served: Served, at: int, noise: bytes
) -> None:
    request = CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)
    answers = got(served, request[:at] + noise + request[at:])
    assert all(status == 200 or 400 <= status < 500 for status in answers)


@quick
@given(st.integers(0, 300))
def test_a_client_that_resets_anywhere_leaves_nothing(served: Served, at: int) -> None:
    request = http_post(GOOD.replace(b"}]}", b'}],"stream":true}'), CHAT)
    with served.connect() as sock:
        sock.sendall(request[:at])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    served.check_at_rest()


def test_requests_sent_at_once_are_answered_one_by_one(served: Served) -> None:
    request = SIZED + GOOD
    last = POST + b"content-length: 2\r\n" + CLOSE + b"\r\n{}"
    assert got(served, request * 3 + last, ends=False) == [200, 200, 200, 400]


def test_a_body_is_asked_for_where_the_client_waits_for_that(served: Served) -> None:
    head = SIZED.replace(b"\r\n\r\n", b"\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n")
    with served.connect() as sock:
        sock.sendall(head)
        assert sock.recv(100).startswith(b"HTTP/1.1 100 ")
        sock.sendall(GOOD)
        assert sock.recv(100).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("sent", "then"),
    [
        (b"", b""),
        (b"POST /v1/chat/comp", b"letions" * 60),
        (POST, b"x: y\r\n" * 60),
        (SIZED + GOOD, b"POST /v1/models HTTP" * 10),
        (POST + b"content-length: 2000000\r\n\r\n", b" " * 400),
    ],
    ids=["nothing", "a path", "headers", "a second head", "a refused body"],
)
def test_a_client_that_trickles_is_cut_off(served: Served, sent: bytes, then: bytes) -> None:
    from tests.platform.gateway.fuzz.conftest import drip, rest_of  # noqa: PLC0415

    with served.connect() as sock:
        sock.sendall(sent)
        drip(sock, then)
        rest_of(sock)  # ends, or the test fails by the socket's timeout
    served.check_at_rest()


@pytest.mark.parametrize("head", [SIZED, CHUNKED + b"ff\r\n"], ids=["sized", "chunked"])
def test_a_body_that_trickles_is_answered_408_and_closed(served: Served, head: bytes) -> None:
    from tests.platform.gateway.fuzz.conftest import drip, rest_of, statuses  # noqa: PLC0415

    with served.connect() as sock:
        sock.sendall(head)
        drip(sock, GOOD[:40])
        assert statuses(rest_of(sock)) == [408]
    served.check_at_rest()


def test_a_hundred_slow_clients_keep_nobody_else_waiting(served: Served) -> None:
    slow = [served.connect() for _ in range(100)]
    for number, sock in enumerate(slow):
        sock.sendall((POST, SIZED, CHUNKED)[number % 3])
    last = SIZED.replace(b"\r\n\r\n", b"\r\n" + CLOSE + b"\r\n") + GOOD
    assert got(served, last, ends=False) == [200]
    served.check_at_rest()
    for sock in slow:
        sock.close()


@pytest.mark.parametrize("stream", [b"true", b"false"])
def test_a_client_that_does_not_read_is_cut_off(served: Served, stream: bytes) -> None:
    """Its answer is larger than what the kernel keeps for it."""
    served.engine.words = ("word " * 2000,) * 1500
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(served.address)
    body = GOOD.replace(b"small", b"large").replace(b"}]}", b'}],"stream":%b}' % stream)
    sock.sendall(http_post(body, CHAT))
    served.wait_until(lambda: bool(served.engine.running))
    served.check_at_rest()
    sock.close()
