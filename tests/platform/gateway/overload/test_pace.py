"""What is learned of places and first tokens, checked against hand computation."""

import pytest

from turnout.gateway.overload.pace import Pace


def test_nothing_is_expected_before_anything_was_learned() -> None:
    pace = Pace()
    assert (pace.place_s, pace.first_s(5), pace.first_at_most_s(5)) == (0, 0, 0)


def test_the_time_in_a_place_moves_a_twentieth_of_the_way() -> None:
    pace = Pace()
    pace.left(2.0)
    assert pace.place_s == 2.0
    pace.left(4.0)
    assert pace.place_s == pytest.approx(2.1)


def test_first_tokens_are_smoothed_as_rfc_6298_smooths_round_trips() -> None:
    """RFC 6298, 2: SRTT = R, RTTVAR = R/2; then RTTVAR = 3/4 of it + 1/4 |SRTT - R'|,
    SRTT = 7/8 of it + 1/8 R'. Here with 2 deviations in place of 4."""
    pace = Pace()
    pace.began(0.8, now_s=1)
    assert pace.first_s(1) == pytest.approx(0.8)
    assert pace.first_at_most_s(1) == pytest.approx(0.8 + 2 * 0.4)
    pace.began(1.6, now_s=1)
    assert pace.first_s(1) == pytest.approx(0.9)
    assert pace.first_at_most_s(1) == pytest.approx(0.9 + 2 * (0.3 + 0.2))


def test_a_slow_first_token_is_believed_half_as_much_after_five_seconds() -> None:
    pace = Pace()
    pace.began(8.0, now_s=100)
    assert pace.first_s(105) == pytest.approx(4.0)
    assert pace.first_s(110) == pytest.approx(2.0)
