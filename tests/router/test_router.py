import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout_router.router import Length, Router

PROMPTS = json.loads(Path(__file__).with_name("prompts.json").read_text(encoding="utf-8"))
EASY, HARD = (PROMPTS["tuned_on"][side] for side in ("easy", "hard"))
DEFAULT_THRESHOLD = 0.65  # docs/router.md


@pytest.fixture(scope="module")
def router() -> Router:
    return Router.load()


@pytest.mark.parametrize("text", EASY)
def test_easy_prompts_are_good_enough_for_small(router: Router, text: str) -> None:
    assert router.difficulty(text) >= DEFAULT_THRESHOLD


@pytest.mark.parametrize("text", HARD)
def test_hard_prompts_are_not_good_enough_for_small(router: Router, text: str) -> None:
    assert router.difficulty(text) < DEFAULT_THRESHOLD


def test_prompts_written_before_training_part_ways(router: Router) -> None:
    """Nine in ten pairs of an easy and a hard prompt are in the right order."""
    easy = [router.difficulty(text) for text in PROMPTS["never_tuned_on"]["easy"]]
    hard = [router.difficulty(text) for text in PROMPTS["never_tuned_on"]["hard"]]
    in_order = sum(e > h for e in easy for h in hard)
    assert in_order / (len(easy) * len(hard)) >= 0.9


@pytest.mark.parametrize(
    "text", ["", " ", "😀🚂" * 500, "你好" * 3000, "\x00\x01\ufffd" * 999, "1 " * 10**6, "\ud800"]
)
def test_a_text_unlike_the_training_data_is_never_called_certain(router: Router, text: str) -> None:
    assert 0.1 < router.difficulty(text) < 0.95


@given(st.text(max_size=300))
def test_any_text_gets_a_probability_and_an_ordered_length(router: Router, text: str) -> None:
    estimate = router.estimate(text)
    assert 0 <= estimate.difficulty <= 1
    assert 1 <= estimate.length.p50 <= estimate.length.p90


def test_one_text_is_judged_as_in_a_batch(router: Router) -> None:
    together = router.estimates(EASY + HARD)
    alone = [router.difficulty(text) for text in EASY + HARD]
    assert [estimate.difficulty for estimate in together] == pytest.approx(alone)


def test_a_problem_worked_in_steps_is_longer_than_a_fact(router: Router) -> None:
    fact, problem = router.length(EASY[0]), router.length(HARD[0])
    assert isinstance(fact, Length)
    assert fact.p50 < problem.p50


def test_pulls_and_the_average_add_up_to_the_log_odds(router: Router) -> None:
    average = router.artifact.arrays["difficulty_intercept"].item()
    p = router.difficulty(HARD[0])
    assert average + sum(router.pulls(HARD[0]).values()) == pytest.approx(math.log(p / (1 - p)))


def test_digits_and_numbers_pull_a_word_problem_towards_large(router: Router) -> None:
    pulls = router.pulls(HARD[0])
    assert pulls["log_digits"] < 0
    assert pulls["log_numbers"] < 0
