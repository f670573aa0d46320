import pytest

from turnout.limits.amounts import UNIT
from turnout.limits.headers import Bucket, duration, rate_limit_headers


@pytest.mark.parametrize(
    ("ms", "written"),
    [
        # OpenAI's reference of rate limit headers
        (1_000, "1s"),
        (360_000, "6m0s"),
        (120, "120ms"),
        # Go's time.Duration.String
        (0, "0s"),
        (1_500, "1.5s"),
        (4_533_918, "1h15m33.918s"),
        (259_200_500 + 180_000, "72h3m0.5s"),
    ],
)
def test_durations_are_written_as_openai_and_go_write_them(ms: int, written: str) -> None:
    assert duration(ms) == written


def test_the_tighter_of_two_buckets_is_told() -> None:
    key = Bucket(level=9 * UNIT, capacity=10 * UNIT)
    team = Bucket(level=5 * UNIT, capacity=60 * UNIT)
    assert rate_limit_headers("requests", [key, team]) == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "5",
        "x-ratelimit-reset-requests": "55s",
    }


def test_a_debt_leaves_nothing_and_lengthens_the_reset() -> None:
    told = rate_limit_headers("tokens", [Bucket(level=-10 * UNIT, capacity=60 * UNIT)])
    assert told["x-ratelimit-remaining-tokens"] == "0"
    assert told["x-ratelimit-reset-tokens"] == "1m10s"


def test_a_part_of_a_token_is_none() -> None:
    told = rate_limit_headers("tokens", [Bucket(level=2 * UNIT - 1, capacity=60 * UNIT)])
    assert told["x-ratelimit-remaining-tokens"] == "1"


def test_without_a_limit_nothing_is_told() -> None:
    assert rate_limit_headers("tokens", []) == {}
