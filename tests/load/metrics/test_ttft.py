from __future__ import annotations

from dataclasses import replace

from turnout_load.metrics.ttft import TTFT
from turnout_load.record import Record


def test_ttft_counts_from_the_intended_send_time_though_it_was_sent_late(streamed: Record) -> None:
    assert TTFT.of(streamed) == 50
    assert TTFT.of(replace(streamed, sent_ns=streamed.first_ns - 1)) == 50


def test_an_answer_that_was_not_streamed_has_no_ttft(whole: Record) -> None:
    assert TTFT.of(whole) is None


def test_a_request_that_got_no_chunk_has_no_ttft(failed: Record) -> None:
    assert TTFT.of(failed) is None
