from __future__ import annotations

from dataclasses import replace

from turnout_load.metrics.tpot import TPOT
from turnout_load.record import UNKNOWN, Record


def test_tpot_spreads_the_time_after_the_first_token_over_the_others(streamed: Record) -> None:
    assert TPOT.of(streamed) == 5  # 50 ms for 10 tokens


def test_an_answer_of_one_token_or_of_unknown_ones_has_no_tpot(
    streamed: Record, whole: Record
) -> None:
    assert TPOT.of(replace(streamed, output_tokens=1)) is None
    assert TPOT.of(replace(streamed, output_tokens=UNKNOWN)) is None
    assert TPOT.of(whole) is None
