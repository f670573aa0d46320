from __future__ import annotations

from dataclasses import replace

import pytest

from turnout_load.metrics.itl import ITL, pooled_itl_ms
from turnout_load.record import Record
from turnout_load.stats.histogram import Histogram


def test_a_requests_itl_is_the_mean_gap_between_its_chunks(streamed: Record) -> None:
    assert ITL.of(streamed) == 10


def test_an_answer_of_one_chunk_has_no_itl(streamed: Record, whole: Record) -> None:
    assert ITL.of(replace(streamed, chunks=1, last_ns=streamed.first_ns)) is None
    assert ITL.of(whole) is None


def test_pooled_gaps_show_a_stutter_that_the_means_hide(streamed: Record) -> None:
    gaps = Histogram()
    for _ in range(100):
        for gap_ms in (1, 1, 1, 37):  # 10 ms in the mean
            gaps.add(gap_ms * 1_000_000)
    pooled = pooled_itl_ms(gaps, [streamed] * 100)
    assert pooled is not None
    assert (pooled.count, pooled.mean, pooled.max) == (400, 10, 37)
    assert (pooled.p50, pooled.p90) == pytest.approx((1, 37), rel=0.001)


def test_gaps_of_one_request_are_counted_once_for_intervals(streamed: Record) -> None:
    gaps = Histogram()
    for value in range(1, 101):
        for _ in range(4):
            gaps.add(value)
    by_100 = pooled_itl_ms(gaps, [streamed] * 100)
    by_1 = pooled_itl_ms(gaps, [replace(streamed, chunks=401)])
    assert by_100 is not None
    assert by_1 is not None
    assert by_100.ci95["p50"] == (40e-6, 61e-6)  # as of a sample of 100
    assert by_1.ci95["p50"] is None


def test_a_run_without_a_gap_has_no_itl(whole: Record) -> None:
    assert pooled_itl_ms(Histogram(), [whole]) is None
