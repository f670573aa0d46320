"""What a file of conversations or requests gives once it is read."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from turnout_load.errors import BadData
from turnout_load.workload.work import Dataset


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset with its size, its own offsets if it is a trace, and what a report says of it."""

    dataset: Dataset
    size: int | None = None
    """None never ends."""
    offsets_ns: Sequence[int] | None = None
    problems: tuple[BadData, ...] = ()
    notes: tuple[str, ...] = ()


def in_time_order(times_ns: Sequence[int]) -> tuple[array[int], Sequence[int]]:
    """Returns offsets from the earliest time, in order, and which row each of them is."""
    order: Sequence[int] = range(len(times_ns))
    if any(later < earlier for earlier, later in pairwise(times_ns)):
        order = array("q", sorted(order, key=times_ns.__getitem__))
    first = times_ns[order[0]]
    return array("q", (times_ns[row] - first for row in order)), order
