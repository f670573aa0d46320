"""When a line is asked again."""

from __future__ import annotations

import json

import pytest

from turnout.batches.verdict import Again, Answer, judge


def refusal(status: int, code: str = "c", **headers: str) -> Answer:
    body = json.dumps({"error": {"code": code}}).encode()
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


@pytest.mark.parametrize("status", [200, 400, 404, 413, 500, 504])
def test_an_answer_that_is_no_refusal_is_the_lines(status: int) -> None:
    assert judge(refusal(status), 0, 0) is None


@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_is_asked_again_when_it_says_however_often(status: int) -> None:
    assert judge(refusal(status, retry_after="7"), 1000, 0) == Again(7.0)


def test_nobody_waits_longer_than_a_minute_as_a_budget_may_be_raised() -> None:
    assert judge(refusal(429, retry_after="86400"), 0, 0) == Again(60.0)


@pytest.mark.parametrize(("refusals", "pause_s"), [(0, 1), (1, 2), (5, 32), (6, 60), (5000, 60)])
def test_without_a_time_the_pauses_double(refusals: int, pause_s: float) -> None:
    assert judge(refusal(429), refusals, 0) == Again(pause_s)


@pytest.mark.parametrize(
    "answer",
    [refusal(503, "replica_lost", retry_after="1"), refusal(503), Answer(503, {}, b"<html>")],
)
def test_a_line_that_breaks_three_engines_has_failed(answer: Answer) -> None:
    assert judge(answer, 0, 0) == Again(1.0, is_loss=True)
    assert judge(answer, 0, 1) == Again(1.0, is_loss=True)
    assert judge(answer, 0, 2) is None


def test_a_refusal_that_is_no_json_is_no_loss() -> None:
    assert judge(Answer(503, {"retry-after": "5"}, b"<html>"), 0, 2) == Again(5.0)
