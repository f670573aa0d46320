from datetime import UTC, datetime

import pytest

from turnout.limits.periods import end_of, month_start, periods_at


def ms(*date: int) -> int:
    return int(datetime(*date, tzinfo=UTC).timestamp()) * 1000  # type: ignore[misc,arg-type]


def test_days_and_months_are_calendar_ones_in_utc() -> None:
    assert periods_at(ms(2026, 12, 31, 23, 59, 59)) == (ms(2026, 12, 31), ms(2026, 12, 1))
    assert periods_at(ms(2027, 1, 1)) == (ms(2027, 1, 1), ms(2027, 1, 1))


@pytest.mark.parametrize(
    ("month", "end"), [((2026, 12), (2027, 1)), ((2028, 2), (2028, 3)), ((2026, 4), (2026, 5))]
)
def test_a_month_ends_when_the_next_begins(month: tuple[int, int], end: tuple[int, int]) -> None:
    assert end_of("month", ms(*month, 15, 7)) == ms(*end, 1)


def test_a_day_ends_at_midnight() -> None:
    assert end_of("day", ms(2026, 3, 14, 12)) == ms(2026, 3, 15)
    assert end_of("day", ms(2026, 3, 14)) == ms(2026, 3, 15)


def test_months_before_and_after_are_found_across_a_year() -> None:
    assert month_start(ms(2026, 1, 31), -1) == ms(2025, 12, 1)
    assert month_start(ms(2026, 12, 31), 1) == ms(2027, 1, 1)
