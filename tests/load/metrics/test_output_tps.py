from __future__ import annotations

from dataclasses import replace

from turnout_load.metrics.output_tps import OUTPUT_TPS
from turnout_load.record import Record


def test_ten_tokens_after_the_first_in_40_ms_are_250_a_second(streamed: Record) -> None:
    assert OUTPUT_TPS.of(streamed) == 250


def test_an_answer_that_came_at_once_has_no_streaming_rate(streamed: Record, whole: Record) -> None:
    assert OUTPUT_TPS.of(replace(streamed, last_ns=streamed.first_ns)) is None
    assert OUTPUT_TPS.of(replace(streamed, output_tokens=1)) is None
    assert OUTPUT_TPS.of(whole) is None
