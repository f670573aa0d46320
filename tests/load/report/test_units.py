import pytest

from turnout_load.report.units import milliseconds, number, seconds, share, signed, usd


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.05, "0.0500"),
        (0.5, "0.50"),
        (9.876, "9.88"),
        (52.14, "52.1"),
        (521.4, "521"),
        (1234567.8, "1,234,568"),
        (None, "\N{EN DASH}"),
    ],
)
def test_numbers_have_about_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0%"),
        (0.0001, "<0.1%"),
        (0.5, "50.0%"),
        (0.99996, ">99.9%"),
        (1.0, "100%"),
        (None, "\N{EN DASH}"),
    ],
)
def test_only_everything_is_called_100_percent(value: float | None, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "$0.00"), (12.345, "$12.35"), (0.1234, "$0.1234"), (0.000123, "$0.00012")],
)
def test_small_amounts_keep_two_digits_that_count(value: float, text: str) -> None:
    assert usd(value) == text


def test_long_times_are_told_in_the_next_unit() -> None:
    assert milliseconds(9_876) == "9,876 ms"
    assert milliseconds(12_340) == "12.3 s"
    assert seconds(90) == "90 s"
    assert seconds(5400) == "90.0 min"


def test_a_negative_number_has_a_true_minus_sign() -> None:
    assert signed(-1234.5, 1) == "\N{MINUS SIGN}1,234.5"
