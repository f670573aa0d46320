from __future__ import annotations

import pytest

from turnout_load.metrics.client import bottleneck
from turnout_load.stats.percentiles import distribution

ON_TIME = distribution([0.1] * 100)


def test_a_client_with_time_and_connections_to_spare_kept_up() -> None:
    assert bottleneck(0.9, 99, 100, ON_TIME) is None
    assert bottleneck(0.1, 0, 100, None) is None


def test_one_late_request_in_a_hundred_is_no_bottleneck() -> None:
    assert bottleneck(0.1, 1, 100, distribution([0.1] * 99 + [500])) is None


@pytest.mark.parametrize(
    ("cpu_share", "in_flight", "late", "because"),
    [
        (0.97, 10, 0, "a process used 97% of a core: give it more --processes"),
        (0.5, 100, 0, "all 100 connections were in use: allow more --max-connections"),
        (0.5, 10, 10, "one request in twenty was sent over 25 ms late"),
    ],
)
def test_a_client_that_did_not_keep_up_says_why(
    cpu_share: float, in_flight: int, late: int, because: str
) -> None:
    delays = distribution([0.1] * (100 - late) + [25.0] * late)
    assert (bottleneck(cpu_share, in_flight, 100, delays) or "").startswith(because)
