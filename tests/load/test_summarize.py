from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from turnout_load.errors import BadOption
from turnout_load.record import UNKNOWN, Record
from turnout_load.records import Records
from turnout_load.result import Counts, Result
from turnout_load.spec import Spec, Target
from turnout_load.summarize import Facts, summarize

MS, S = 1_000_000, 1_000_000_000
TARGET = Target(url="http://127.0.0.1:1/v1", model="auto")
FACTS = Facts(
    started_at="2025-01-01T00:00:00+00:00",
    duration_s=13.0,
    was_stopped=False,
    environment={"python": "3.11"},
    processes=2,
    cpu_share=0.25,
    connections_opened=3,
    peak_in_flight=2,
    peak_memory_mib=64.0,
    notes=("the clock was set",),
)


def answer(at_s: float, ttft_ms: int = 50, model: str = "small") -> Record:
    """Five chunks with 10 ms between them, 11 tokens, ended 10 ms after the last chunk."""
    at_ns = round(at_s * S)
    first_ns = at_ns + ttft_ms * MS
    return Record(
        index=0,
        intended_ns=at_ns,
        sent_ns=at_ns + 2 * MS,
        first_ns=first_ns,
        last_ns=first_ns + 40 * MS,
        end_ns=first_ns + 50 * MS,
        status=200,
        chunks=5,
        input_tokens=100,
        output_tokens=11,
        model=model,
    )


def failure(at_s: float, error: str) -> Record:
    at_ns = round(at_s * S)
    return Record(index=0, intended_ns=at_ns, sent_ns=at_ns, end_ns=at_ns + MS, error=error)


def summary(*some: Record, spec: Spec | None = None, facts: Facts = FACTS) -> Result:
    records = Records()
    for record in some:
        records.append(record)
        for _ in range(record.chunks - 1):
            records.add_gap(10 * MS)
    return summarize(records, spec or Spec(target=TARGET), facts)


def test_latencies_are_the_known_truth_of_the_answers() -> None:
    result = summary(*[answer(second) for second in range(10)])
    for measured, truth in (
        (result.ttft_ms, 50),
        (result.tpot_ms, 5),
        (result.e2e_ms, 100),
        (result.output_tps, 250),
        (result.send_delay_ms, 2),
        (result.input_tokens, 100),
        (result.output_tokens, 11),
    ):
        assert measured is not None
        assert (measured.count, measured.p50, measured.mean) == (10, truth, truth)
    assert result.normalized_latency_ms_per_token is not None
    assert result.normalized_latency_ms_per_token.p50 == pytest.approx(9.0909, rel=1e-4)
    assert result.itl_ms is not None
    assert (result.itl_ms.count, result.itl_ms.mean) == (40, 10)
    assert result.rates.requests_intended == 1


def test_requests_of_the_warm_up_are_counted_and_in_no_figure() -> None:
    spec = Spec(target=TARGET, warm_up_s=5, slo=("ttft<1s",))
    early = [answer(4.999, ttft_ms=3000, model="cold"), failure(1, "connect")]
    result = summary(*early, answer(5), answer(6), spec=spec)
    assert result.requests == Counts(sent=2, ok=2, failed=0, unfinished=0, warm_up=2)
    assert result.e2e_ms is not None
    assert (result.e2e_ms.count, result.e2e_ms.max) == (2, 100)
    assert result.rates.measured_s == pytest.approx(1.1)
    assert not result.errors
    assert list(result.models) == ["small"]
    assert result.goodput is not None
    assert result.goodput.share == 1


def test_requests_that_a_stop_left_unfinished_are_neither_failed_nor_in_a_figure() -> None:
    spec = Spec(target=TARGET, slo=("e2e<1s",))
    under_way = replace(answer(2), error="unfinished", end_ns=2 * S + 9)
    facts = replace(FACTS, was_stopped=True)
    result = summary(answer(1), failure(1, "stalled"), under_way, spec=spec, facts=facts)
    assert result.requests == Counts(sent=3, ok=1, failed=1, unfinished=1, warm_up=0)
    assert list(result.errors) == ["stalled"]
    assert result.ttft_ms is not None
    assert result.ttft_ms.count == 1
    assert result.goodput is not None
    assert result.goodput.share == 0.5
    assert result.was_stopped


def test_failures_are_in_send_delay_and_in_no_latency() -> None:
    result = summary(answer(1), failure(1, "http 500"))
    assert result.send_delay_ms is not None
    assert result.e2e_ms is not None
    assert (result.send_delay_ms.count, result.e2e_ms.count) == (2, 1)
    assert result.errors["http 500"].count == 1


def test_a_run_in_which_nothing_was_answered_has_counts_and_no_figures() -> None:
    result = summary(failure(1, "connect"))
    assert (result.requests.ok, result.requests.failed) == (0, 1)
    assert [result.ttft_ms, result.itl_ms, result.e2e_ms, result.cost] == [None] * 4
    assert summary().requests.sent == 0


def test_cost_cache_models_and_groups_are_filled_where_they_are_known() -> None:
    spec = Spec(target=TARGET, price={"*": "1/1"})
    cached = replace(answer(1), cached_tokens=50, team="search")
    result = summary(cached, answer(2, model="large"), spec=spec)
    assert result.cost is not None
    assert result.cost.usd == pytest.approx(222e-6)
    assert result.prefix_cache is not None
    assert result.prefix_cache.share == 0.5
    assert {model: used.share for model, used in result.models.items()} == {
        "small": 0.5,
        "large": 0.5,
    }
    assert set(result.groups) == {"search", ""}


def test_what_only_the_edge_knows_is_passed_on() -> None:
    result = summary(answer(1))
    assert (result.started_at, result.duration_s) == (FACTS.started_at, 13.0)
    assert result.environment == {"python": "3.11"}
    assert (result.client.processes, result.client.connections_opened) == (2, 3)
    assert not result.client.is_bottleneck
    assert result.notes == ["the clock was set"]


def test_connections_are_those_of_all_processes_together() -> None:
    spec = Spec(target=TARGET, max_connections=10)
    full = summary(answer(1), spec=spec, facts=replace(FACTS, peak_in_flight=20))
    assert full.client.is_bottleneck
    assert "all 20 connections were in use" in full.client.because
    half = summary(answer(1), spec=spec, facts=replace(FACTS, peak_in_flight=10))
    assert not half.client.is_bottleneck


def test_answers_without_usage_are_noted() -> None:
    result = summary(answer(1), replace(answer(2), output_tokens=UNKNOWN))
    assert result.output_tokens is not None
    assert result.output_tokens.count == 1
    assert "answers without usage: 1; figures that count tokens leave them out" in result.notes


def test_no_header_and_no_password_of_the_url_is_in_a_result() -> None:
    target = Target(
        url="http://user:pass-word@host:8000/v1",
        model="auto",
        headers={"Authorization": "Bearer sk-secret"},
    )
    encoded = msgspec.json.encode(summary(answer(1), spec=Spec(target=target))).decode()
    assert "sk-secret" not in encoded
    assert "pass-word" not in encoded
    assert "http://host:8000/v1" in encoded
    assert '"Authorization":"hidden"' in encoded


def test_an_slo_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(BadOption, match="--slo 'fast'"):
        summary(answer(1), spec=Spec(target=TARGET, slo=("fast",)))
