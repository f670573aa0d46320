from __future__ import annotations

from turnout_load.metrics.send_delay import SEND_DELAY
from turnout_load.record import Record


def test_send_delay_is_how_late_the_client_sent(streamed: Record) -> None:
    assert SEND_DELAY.of(streamed) == 2


def test_a_request_that_was_never_sent_has_no_send_delay() -> None:
    assert SEND_DELAY.of(Record(index=0, intended_ns=5, error="connect")) is None
