"""A report's parameters: what is understood, and what is said about the rest."""

from __future__ import annotations

import pytest

from turnout.usage.question import BadQuestion, Question, parse_query, parse_question

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def test_without_parameters_the_last_day_is_summed_up() -> None:
    assert parse_question({}, NOW) == Question(NOW - 86400, NOW)


@pytest.mark.parametrize(
    ("text", "at_s"),
    [
        ("1767139200", 1_767_139_200),
        ("1767139200.5", 1_767_139_200.5),
        ("2025-12-31", 1_767_139_200),
        ("2025-12-31T00:00:00", 1_767_139_200),
        ("2025-12-31T00:00Z", 1_767_139_200),
        ("2025-12-31T02:00+02:00", 1_767_139_200),
    ],
)
def test_moments_are_seconds_or_iso_dates_in_utc(text: str, at_s: float) -> None:
    assert parse_question({"from": text}, NOW).from_s == at_s


def test_everything_together() -> None:
    params = parse_query(b"from=0&to=86400&group_by=model,team&bucket=hour&team=a%20b&key=k1")
    assert parse_question(params, NOW) == Question(0, 86400, ("team", "model"), "hour", "a b", "k1")


@pytest.mark.parametrize(
    ("query", "param", "problem"),
    [
        (b"from=yesterday", "from", "such as 2026-01-31T12:00Z"),
        (b"from=nan", "from", "out of range"),
        (b"to=1e300", "to", "out of range"),
        (b"from=5&to=5", "from", "5 is not before 'to' (5)"),
        (b"bucket=minute", "bucket", "write hour or day"),
        (b"from=0&bucket=hour", "bucket", "more than 1000"),
        (b"group_by=team,prompt", "group_by", "'prompt' is none of team, key, model"),
        (b"form=0", "form", "there is no such parameter: use from, to"),
        (b"from=1&from=2", "from", "given more than once"),
        (b"team=%ff&x", "x", "no such parameter"),
    ],
)
def test_what_makes_no_sense_is_named(query: bytes, param: str, problem: str) -> None:
    with pytest.raises(BadQuestion) as caught:
        parse_question(parse_query(query), NOW)
    assert caught.value.param == param
    assert problem in caught.value.problem


def test_capacity_is_asked_for_by_the_hours_that_a_range_touches() -> None:
    assert Question(3601, 7201).hours_s == (3600, 10800)
    assert Question(3600, 7200).hours_s == (3600, 7200)
