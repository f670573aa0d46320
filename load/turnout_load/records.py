"""Many records in little memory: a column for each field."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import compress, starmap
from operator import attrgetter
from typing import Any

from turnout_load.record import Record
from turnout_load.stats.histogram import Histogram

NAMES = tuple(field.name for field in fields(Record))
NUMBERS = frozenset(field.name for field in fields(Record) if field.type == "int")
SHARED = frozenset({"model", "team", "error", "detail"})
"""Texts that many records have alike."""
_values = attrgetter(*NAMES)


class Records:
    """Records by column, and the gaps between chunks of all of them together.

    About 300 bytes a record. Crosses processes as it is: numbers pickle as blocks of bytes, and a
    text that many records share is stored and sent once.
    """

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {  # array('q'), or a list
            name: array("q") if name in NUMBERS else [] for name in NAMES
        }
        self.gaps = Histogram()
        """Waits between two chunks with content, after the warm-up; also of answers that failed."""

    def append(self, record: Record) -> None:
        """Keeps a record; its gaps are added by `add_gap`."""
        for name, value in zip(NAMES, _values(record), strict=True):
            self._columns[name].append(sys.intern(value) if name in SHARED else value)

    def add_gap(self, gap_ns: int) -> None:
        """Counts one wait between two chunks with content."""
        self.gaps.add(gap_ns)

    def extend(self, other: Records) -> None:
        """Takes in another process's records and gaps."""
        for name, column in self._columns.items():
            column.extend(other._columns[name])
        self.gaps.merge(other.gaps)

    def where(self, keeps: Iterable[bool]) -> Records:
        """Returns the records whose place in `keeps` is true, without gaps."""
        mask = list(keeps)
        kept = Records()
        for name, column in self._columns.items():
            kept._columns[name].extend(compress(column, mask))
        return kept

    def column(self, name: str) -> Sequence[Any]:
        """Returns one field of every record; raises KeyError for a name that is no field."""
        column: Sequence[Any] = self._columns[name]
        return column

    def __len__(self) -> int:
        return len(self._columns["index"])

    def __iter__(self) -> Iterator[Record]:
        return starmap(Record, zip(*self._columns.values(), strict=True))

    def __getitem__(self, position: int) -> Record:
        return Record(*(column[position] for column in self._columns.values()))
