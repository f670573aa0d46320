from __future__ import annotations

from dataclasses import replace

from turnout_load.metrics.normalized_latency import NORMALIZED_LATENCY
from turnout_load.record import UNKNOWN, Record


def test_normalized_latency_is_the_whole_time_for_each_token(whole: Record) -> None:
    assert NORMALIZED_LATENCY.of(replace(whole, output_tokens=20)) == 5


def test_an_answer_without_known_tokens_has_no_normalized_latency(streamed: Record) -> None:
    assert NORMALIZED_LATENCY.of(replace(streamed, output_tokens=UNKNOWN)) is None
    assert NORMALIZED_LATENCY.of(replace(streamed, output_tokens=0)) is None
