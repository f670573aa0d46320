"""Usage beside a tokenizer's counts, by hand."""

import pytest

from turnout_load.metrics.usage import Lengths, joined, usage_check


def test_counts_are_summed_and_answers_that_are_far_apart_counted() -> None:
    check = usage_check(Lengths(output=((10, 8), (5, 5), (7, 12))))
    assert check is not None
    assert check.prompt is None
    assert check.output is not None
    assert (check.output.by_server, check.output.by_tokenizer) == (22, 25)
    assert check.output.difference_percent == pytest.approx(-12)
    assert (check.output.answers, check.output.apart) == (3, 1)  # 2 apart is no more than 2


def test_answers_without_a_token_have_no_difference_in_percent() -> None:
    check = usage_check(Lengths(output=((3, 0),)))
    assert check is not None
    assert check.output is not None
    assert (check.output.difference_percent, check.output.apart) == (None, 1)


def test_nothing_counted_is_no_check() -> None:
    assert usage_check(Lengths()) is None


def test_samples_of_processes_are_joined() -> None:
    several = [Lengths(output=((1, 1),), prompt=((2, 2),)), Lengths(), Lengths(output=((3, 3),))]
    assert joined(several) == Lengths(output=((1, 1), (3, 3)), prompt=((2, 2),))
