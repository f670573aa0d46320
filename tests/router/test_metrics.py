import numpy as np
import pytest

from turnout_router.metrics import accuracy_at, apgr, ece, threshold_table

WEAK = np.array([1.0, 1.0, 0.0, 0.0])
STRONG = np.ones(4)


def test_a_constant_score_recovers_half_of_the_gap_as_random_does() -> None:
    assert apgr(STRONG, WEAK, np.full(4, 0.7)) == pytest.approx(0.5)


def test_a_perfect_order_closes_the_gap_at_half_of_the_calls() -> None:
    # accuracy rises from 0.5 to 1 over the first half of the calls: area 0.5·0.5 + 0.5
    assert apgr(STRONG, WEAK, np.array([0.9, 0.8, 0.2, 0.1])) == pytest.approx(0.75)


def test_a_reversed_order_closes_the_gap_last() -> None:
    assert apgr(STRONG, WEAK, np.array([0.1, 0.2, 0.8, 0.9])) == pytest.approx(0.25)


def test_ties_count_as_their_expectation_over_random_order() -> None:
    difficulty = np.array([0.5, 0.5, 0.5, 0.9])
    weak = np.array([0.0, 0.0, 1.0, 1.0])
    # one call of four to strong, one of three tied requests at random: 2 of 3 gain 1
    assert accuracy_at(0.25, STRONG, weak, difficulty) == pytest.approx((2 + 2 / 3) / 4)


def test_probabilities_that_come_true_have_no_calibration_error() -> None:
    right = np.tile([1.0, 0.0, 0.0, 0.0], 25)
    assert ece(right, np.full(100, 0.25), bins=1) == pytest.approx(0)
    assert ece(right, np.full(100, 0.75), bins=1) == pytest.approx(0.5)


def test_calibration_error_is_weighted_by_bins_of_equal_mass() -> None:
    probability = np.array([0.1, 0.1, 0.9, 0.9])
    right = np.array([0.0, 0.0, 1.0, 0.0])
    # first half off by 0.1, second half right 0.5 of the time where 0.9 was promised
    assert ece(right, probability, bins=2) == pytest.approx((0.1 + 0.4) / 2)


def test_a_threshold_sends_what_is_below_it_to_strong() -> None:
    (row,) = threshold_table(STRONG, WEAK, np.array([0.9, 0.6, 0.4, 0.1]), (0.6,))
    assert row == {"threshold": 0.6, "strong_share": 0.5, "quality": 1.0}
