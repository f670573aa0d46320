"""What a metric is: a formula over one request, with a name and a unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from turnout_load.record import Record
from turnout_load.result import Distribution
from turnout_load.stats.percentiles import distribution

MS = 1_000_000
"""Nanoseconds of a millisecond."""
S = 1_000_000_000
"""Nanoseconds of a second."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of one request, such as its TTFT."""

    name: str
    """How options name it: `ttft`."""
    title: str
    unit: str
    of: Callable[[Record], float | None]
    """The value in `unit`; None where the request has none."""


def measure(metric: Metric, records: Iterable[Record]) -> Distribution | None:
    """Returns a metric's percentiles over the records that have it, or None if none has."""
    values = map(metric.of, records)
    return distribution(value for value in values if value is not None)
