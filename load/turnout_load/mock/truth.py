"""What the mock really did, measured where it wrote: the truth that a client's figures err from."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

MS = 1_000_000
PERCENTILES = (50, 75, 90, 95, 99, 99.9)
KEPT_BITS = 12
"""Values are kept to 1 part in 4096: 12 µs of 50 ms."""


class Histogram:
    """Durations, in memory that does not grow with their number."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._total_ns = 0

    def add(self, value_ns: int) -> None:
        """Counts a duration."""
        dropped = max(0, value_ns.bit_length() - KEPT_BITS)
        self._counts[value_ns >> dropped << dropped] += 1
        self._total_ns += value_ns

    def summary_ms(self) -> dict[str, float] | None:
        """Returns count, mean and nearest-rank percentiles in milliseconds; None when empty."""
        count = self._counts.total()
        if not count:
            return None
        ordered = sorted(self._counts.items())
        told = {
            f"p{share:g}": _at(ordered, math.ceil(count * share / 100)) for share in PERCENTILES
        }
        mean = self._total_ns / count
        return {"count": count, **{key: ns / MS for key, ns in {"mean": mean, **told}.items()}}


def _at(ordered: list[tuple[int, int]], rank: int) -> int:
    reached = 0
    for value, count in ordered:
        reached += count
        if reached >= rank:
            return value
    return ordered[-1][0]


class Truth:
    """Times of the answers since the last reset."""

    def __init__(self) -> None:
        self.ttft = Histogram()
        self.itl = Histogram()
        self.request_itl = Histogram()
        self.e2e = Histogram()
        self.late = Histogram()
        self.arrivals_by_second: Counter[int] = Counter()
        self.first_arrival_ns = self.last_arrival_ns = 0
        self.requests = self.answered = self.abandoned = 0

    def arrived(self, now_ns: int) -> None:
        """Counts a request whose last byte came now."""
        if not self.requests:
            self.first_arrival_ns = now_ns
        self.requests += 1
        self.last_arrival_ns = now_ns
        self.arrivals_by_second[(now_ns - self.first_arrival_ns) // 1_000_000_000] += 1

    def as_json(self) -> dict[str, Any]:
        """Returns what `GET /truth` tells; durations count from the arrival of a request's end."""
        spread = range(max(self.arrivals_by_second, default=-1) + 1)
        return {
            "requests": self.requests,
            "answered": self.answered,
            "abandoned": self.abandoned,
            "arrivals_s": (self.last_arrival_ns - self.first_arrival_ns) / 1e9,
            "arrivals_by_second": [self.arrivals_by_second[second] for second in spread],
            "ttft_ms": self.ttft.summary_ms(),
            "itl_ms": self.itl.summary_ms(),
            "request_itl_ms": self.request_itl.summary_ms(),
            "e2e_ms": self.e2e.summary_ms(),
            "late_ms": self.late.summary_ms(),
        }
