"""The pure parts: what goes out, rates, refusals; and keys, by a clock of the test's."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from turnout.config.upstream_settings import UpstreamSettings
from turnout.gateway.upstream.key import KeySource
from turnout.gateway.upstream.outbound import outbound
from turnout.gateway.upstream.rates import Rate, Rates
from turnout.gateway.upstream.refusal import refusal, retry_after_s

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def upstream(**more: Any) -> UpstreamSettings:
    fields = {"base_url": "https://far.example/v1", "model": "theirs", "context_window": 99}
    return UpstreamSettings.model_validate({**fields, **more})


def test_the_gateways_own_fields_never_go_out_whatever_is_listed() -> None:
    ours = {"cache_salt": "team", "priority": 1, "return_token_ids": True, "vllm_xargs": {}}
    body = json.dumps({"model": "far", "messages": [], "min_p": 0.1, **ours}).encode()
    sent = outbound(upstream(fields=["min_p", "cache_salt", "priority"]), "chat", body).body
    assert json.loads(sent) == {"model": "theirs", "messages": [], "min_p": 0.1}


def test_fields_that_are_kept_here_go_out_where_they_are_listed() -> None:
    body = b'{"model":"far","messages":[],"user":"u","service_tier":"flex"}'
    sent = outbound(upstream(fields=["service_tier"]), "chat", body).body
    assert json.loads(sent) == {"model": "theirs", "messages": [], "service_tier": "flex"}


@pytest.mark.parametrize(
    ("asked", "tokens"),
    [
        ({}, 256),
        ({"max_tokens": 10}, 10),
        ({"max_completion_tokens": 20, "n": 3}, 60),
    ],
)
def test_tokens_are_the_answers_at_most_and_the_prompt_by_size(
    asked: dict[str, Any], tokens: int
) -> None:
    body = json.dumps({"model": "far", "messages": [], **asked}).encode()
    sent = outbound(upstream(), "chat", body)
    assert sent.tokens == tokens + len(sent.body) // 4


def test_a_rate_lets_a_minutes_worth_go_and_then_one_at_a_time() -> None:
    rates = Rates(requests=6, tokens=None, now_s=0.0)
    assert [rates.wait_s(1, 1, 0.0) for _ in range(6)] == [0.0] * 6
    assert rates.wait_s(1, 1, 0.0) == pytest.approx(10.0)  # six a minute: one every ten seconds
    assert rates.wait_s(1, 1, 9.0) == pytest.approx(1.0)
    assert rates.wait_s(1, 1, 10.0) == 0.0


def test_what_has_to_wait_for_one_rate_takes_nothing_of_the_other() -> None:
    rates = Rates(requests=2, tokens=100, now_s=0.0)
    assert rates.wait_s(100, 1, 0.0) == 0.0
    assert rates.wait_s(50, 1, 0.0) == pytest.approx(30.0)
    assert rates.wait_s(50, 1, 30.0) == 0.0  # the second request of the minute was not used up


def test_more_than_a_minutes_worth_goes_when_the_bucket_is_full() -> None:
    rate = Rate(100, 0.0)
    assert rate.wait_s(1000, 0.0) == 0.0
    rate.take(1000)
    assert rate.wait_s(1, 0.0) == pytest.approx(540.6)


def test_each_of_two_gateways_has_half_of_the_rate() -> None:
    rates = Rates(requests=6, tokens=None, now_s=0.0)
    assert [rates.wait_s(1, 2, 0.0) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(20.0)]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("1.5", 1.5),
        ("86400", 300.0),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("", None),
        ("9" * 400, 300.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, NOW) == seconds


@pytest.mark.parametrize("body", [b"", b"\xff", b"[1]", b'{"error": "x"}', b'{"detail": [1]}'])
def test_a_refusal_in_any_shape_is_told_in_openais(body: bytes) -> None:
    told = refusal(422, body, "key")
    assert told.status == 422
    assert isinstance(json.loads(told.body)["error"]["message"], str)


def test_a_key_is_read_anew_after_a_second_and_when_it_was_refused(tmp_path: Path) -> None:
    file, now = tmp_path / "key", [0.0]
    source = KeySource("far", upstream(api_key_file=str(file)), lambda: now[0])
    assert source.key() is None
    assert source.is_missing
    file.write_text(" sk-1\n")
    assert source.key() is None
    now[0] = 1.0
    assert source.key() == "sk-1"
    file.write_text("sk-2")
    assert source.key() == "sk-1"
    source.forget()
    assert source.key() == "sk-2"


@pytest.mark.parametrize("text", [b"", b"two words", b"sk\r\nx-own: 1", b"\xff\xfe", b"s\x00k"])
def test_what_no_header_can_carry_is_no_key(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(text)
    assert KeySource("far", upstream(api_key_file=str(file))).key() is None


def test_an_upstream_without_a_key_needs_none() -> None:
    source = KeySource("far", upstream())
    assert (source.key(), source.is_missing) == (None, False)
