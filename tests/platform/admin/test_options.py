from __future__ import annotations

import pytest

from turnout.admin.errors import BadValue
from turnout.admin.options import limits, seconds


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("15m", 900), ("1.5h", 5400), ("30d", 2_592_000)]
)
def test_a_duration_has_a_number_and_a_unit(text: str, expected: float) -> None:
    assert seconds("--overlap", text) == expected


@pytest.mark.parametrize("text", ["", "12", "h", "-1h", "1w", "1h30m", "٣h", "1e9d"])
def test_other_durations_are_told_with_their_option(text: str) -> None:
    with pytest.raises(BadValue, match=r"^--overlap '.*': expected a number with s, m, h or d"):
        seconds("--overlap", text)


def test_limits_are_names_with_numbers() -> None:
    assert limits(["tokens_per_minute=100_000", "usd_per_day=2.5"]) == {
        "tokens_per_minute": 100_000,
        "usd_per_day": 2.5,
    }


@pytest.mark.parametrize("text", ["", "tokens=1", "tokens_per_minute", "tokens_per_minute=many"])
def test_other_limits_are_told(text: str) -> None:
    with pytest.raises(BadValue, match=r"^--limit '"):
        limits([text])
