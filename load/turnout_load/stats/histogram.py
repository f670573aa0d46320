"""A histogram of nanoseconds that stays small however many values it takes."""

from __future__ import annotations

import sys
from bisect import bisect_right
from itertools import accumulate

SIGNIFICANT_BITS = 10
"""Half a bucket is at most 2**-10 of any value in it: 0.098%."""


class Histogram:
    """Counts integer nanoseconds in log-linear buckets; a value read back is within 0.1%.

    Buckets are as in HdrHistogram (Gil Tene, https://hdrhistogram.org): between two powers of two
    they are equally wide, so the relative error is the same at a microsecond and at an hour. Values
    below 1,024 ns are kept exactly; 64-bit values fill at most 29,000 buckets. Count, total,
    minimum and maximum are exact (the last two mean nothing while the count is 0).
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}  # by each bucket's lowest value
        self.count = 0
        self.total = 0
        self.minimum = sys.maxsize
        self.maximum = 0

    def add(self, value: int) -> None:
        """Counts one value; raises ValueError if it is negative."""
        if value < self.minimum:
            if value < 0:
                raise ValueError(f"a duration cannot be negative: {value} ns")
            self.minimum = value
        self.maximum = max(self.maximum, value)
        self.count += 1
        self.total += value
        shift = value.bit_length() - SIGNIFICANT_BITS
        lowest = value >> shift << shift if shift > 0 else value
        self._counts[lowest] = self._counts.get(lowest, 0) + 1

    def merge(self, other: Histogram) -> None:
        """Counts all that the other counted."""
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        self.count += other.count
        self.total += other.total
        for lowest, count in other._counts.items():
            self._counts[lowest] = self._counts.get(lowest, 0) + count

    def ordered(self, unit_ns: int = 1) -> Ordered:
        """Returns the values ascending, in units of so many ns, each as its bucket's middle."""
        lowest = sorted(self._counts)
        middles = (min(max(_middle(value), self.minimum), self.maximum) for value in lowest)
        ends = accumulate(self._counts[value] for value in lowest)
        return Ordered([middle / unit_ns for middle in middles], list(ends))


class Ordered:
    """A histogram's values by rank from 0, ascending, without laying them out."""

    def __init__(self, values: list[float], ends: list[int]) -> None:
        self._values = values
        self._ends = ends  # how many values there are up to and with each of them

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, rank: int) -> float:
        return self._values[bisect_right(self._ends, rank)]


def _middle(lowest: int) -> float:
    width = 1 << max(0, lowest.bit_length() - SIGNIFICANT_BITS)
    return lowest + (width - 1) / 2
