from __future__ import annotations

from dataclasses import replace

import pytest

from turnout_load.errors import BadOption
from turnout_load.metrics.goodput import goodput, misses_of, parse_slo
from turnout_load.record import UNKNOWN, Record

SLO = parse_slo(["ttft<60ms", "itl<15ms"])


def test_goodput_is_the_share_of_requests_that_met_every_part(
    streamed: Record, failed: Record
) -> None:
    late = replace(streamed, first_ns=streamed.intended_ns + 60_000_000)
    slow = replace(streamed, last_ns=streamed.first_ns + 4 * 15_000_000)
    good = goodput([streamed, streamed, late, slow, failed], SLO, measured_s=4)
    assert good is not None
    assert (good.share, good.requests_per_s) == (0.4, 0.5)
    assert good.missed == {"ttft<60ms": 1, "itl<15ms": 1, "failed": 1}
    assert good.slo == ["ttft<60ms", "itl<15ms"]


def test_a_request_that_missed_two_parts_counts_in_both(streamed: Record) -> None:
    late = replace(streamed, intended_ns=0)
    assert misses_of(late, parse_slo(["ttft<60ms", "e2e<1s", "itl<15ms"])) == [
        "ttft<60ms",
        "e2e<1s",
    ]


def test_a_stream_without_a_gap_meets_any_itl_and_tpot_but_not_any_ttft(streamed: Record) -> None:
    single = replace(streamed, chunks=1, output_tokens=1, last_ns=streamed.first_ns)
    slo = parse_slo(["ttft<1ms", "itl<1ms", "tpot<1ms"])
    assert misses_of(single, slo) == ["ttft<1ms"]


def test_many_tokens_in_one_chunk_have_a_tpot(streamed: Record) -> None:
    at_once = replace(streamed, chunks=1, last_ns=streamed.first_ns)
    assert misses_of(at_once, parse_slo(["itl<1ms", "tpot<1ms"])) == ["tpot<1ms"]


def test_a_part_that_cannot_be_judged_is_missed(streamed: Record, whole: Record) -> None:
    slo = ["ttft<9s", "itl<9s", "tpot<9s"]
    assert misses_of(whole, parse_slo(slo)) == slo
    assert misses_of(replace(whole, output_tokens=1), parse_slo(slo)) == slo
    uncounted = replace(streamed, output_tokens=UNKNOWN)
    assert misses_of(uncounted, parse_slo(slo)) == ["tpot<9s"]


def test_a_rate_can_be_part_of_an_slo(streamed: Record) -> None:
    assert misses_of(streamed, parse_slo(["output_tps>249"])) == []
    assert misses_of(streamed, parse_slo(["output_tps>250"])) == ["output_tps>250"]


def test_without_an_slo_or_a_request_there_is_no_goodput(streamed: Record) -> None:
    assert goodput([streamed], (), measured_s=1) is None
    assert goodput([], SLO, measured_s=1) is None


def test_an_slo_on_what_no_single_request_has_is_refused() -> None:
    with pytest.raises(
        BadOption, match=r"expected ttft, itl, tpot, e2e, .* in place of 'ttft.p95'"
    ):
        parse_slo(["ttft.p95<500ms"])
