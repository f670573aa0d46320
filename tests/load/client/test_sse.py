"""Events come out right however the bytes were cut."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnout_load.client.sse import EventStream

# The examples of WHATWG HTML's section 9.2.6, with line ends of all three kinds.
EXAMPLES = [
    (b"data: YHOO\ndata: +2\ndata: 10\n\n", [b"YHOO\n+2\n10"]),
    (b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n",
     [b"first event", b"second event"]),
    (b"data:test\n\ndata: test\n\n", [b"test", b"test"]),
    (b"event: ping\r\ndata: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    (b"data: a\r\rdata: b\r\r", [b"a"]),  # the last CR may still become a CRLF
]  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(EXAMPLES), st.data())
def test_the_cuts_of_the_network_change_nothing(
    example: tuple[bytes, list[bytes]], data: st.DataObject
) -> None:
    sent, expected = example
    stream, events, rest = EventStream(), [], sent
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        events += stream.feed(rest[:cut])
        rest = rest[cut:]
    assert events == expected


def test_a_broken_off_event_is_noticed() -> None:
    stream = EventStream()
    assert stream.feed(b"data: whole\n\n") == [b"whole"]
    assert not stream.has_rest
    assert stream.feed(b'data: {"cho') == []
    assert stream.has_rest
