from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from turnout_load.metrics.throughput import throughput
from turnout_load.record import UNKNOWN, Record
from turnout_load.records import Records

S = 1_000_000_000


def records(some: Iterable[Record]) -> Records:
    kept = Records()
    for record in some:
        kept.append(record)
    return kept


def each_quarter_second(streamed: Record) -> list[Record]:
    """81 requests in 20 s, from second 5 on, the last answered at second 30."""
    times = [5 * S + number * S // 4 for number in range(81)]
    return [replace(streamed, intended_ns=time, end_ns=time + 5 * S) for time in times]


def test_rates_count_until_the_last_answer_and_from_the_warm_ups_end(streamed: Record) -> None:
    answered = records(each_quarter_second(streamed))
    rates = throughput(answered, answered, warm_up_s=5)
    assert rates.measured_s == 25
    assert rates.requests_finished == pytest.approx(81 / 25)
    assert rates.input_tokens == pytest.approx(8100 / 25)
    assert rates.output_tokens == pytest.approx(891 / 25)


def test_the_intended_rate_is_the_one_that_was_asked_for(streamed: Record) -> None:
    answered = records(each_quarter_second(streamed))
    assert throughput(answered, answered, warm_up_s=5).requests_intended == 4


def test_requests_that_failed_are_intended_and_not_finished(
    streamed: Record, failed: Record
) -> None:
    rates = throughput(records([streamed, failed]), records([streamed]), warm_up_s=0)
    assert rates.measured_s == 1.1
    assert rates.requests_intended == pytest.approx(2 / 1.1)
    assert rates.requests_finished == pytest.approx(1 / 1.1)


def test_tokens_that_no_server_told_have_no_rate(streamed: Record) -> None:
    silent = records([replace(streamed, output_tokens=UNKNOWN)])
    rates = throughput(silent, silent, warm_up_s=0)
    assert rates.output_tokens is None
    assert rates.input_tokens == pytest.approx(100 / 1.1)


def test_a_run_without_requests_has_no_rate() -> None:
    rates = throughput(Records(), Records(), warm_up_s=3)
    assert (rates.measured_s, rates.requests_intended, rates.requests_finished) == (0, 0, 0)
