"""Files of data, line by line: what cannot be used is named and left out, and the rest goes on.

Files are mapped, not read: a process keeps two integers per line, and the pages are the system's
cache, shared between processes. The file must not shrink during a run.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from typing import Annotated, NamedTuple, TypeVar

import msgspec

from turnout_load.errors import BadData

T = TypeVar("T")

MOST_TOKENS = 10_000_000
"""A length above it is a broken line, not a prompt."""
Tokens = Annotated[int, msgspec.Meta(ge=1, le=MOST_TOKENS)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Line(NamedTuple):
    """One line that is not blank: its number from 1, where it lies in the file, and its text."""

    number: int
    start: int
    end: int
    text: bytes


class Problems:
    """Collects the lines of one file that cannot be used: all are counted, the first named."""

    named_at_most = 20

    def __init__(self, path: str) -> None:
        self.path = path
        self.named: list[BadData] = []
        self.count = 0

    def add(self, line: int | None, problem: object) -> None:
        """Notes a line and what is wrong with it."""
        self.count += 1
        if self.count <= self.named_at_most:
            self.named.append(BadData(self.path, line, str(problem)))

    def checked(self, usable: int) -> tuple[BadData, ...]:
        """Returns the named problems; raises BadData if there is nothing usable beside them."""
        if usable:
            return tuple(self.named)
        if not self.named:
            raise BadData(self.path, None, "holds nothing to send")
        path, line, problem = self.named[0].args
        more = f" (and {self.count - 1} more such lines, no usable one)" if self.count > 1 else ""
        raise BadData(path, line, f"{problem}{more}")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report says about them."""
        if not self.count:
            return ()
        lines = "1 line" if self.count == 1 else f"{self.count} lines"
        return (f"{self.path}: {lines} could not be used: left out",)


def mapped(path: str) -> mmap.mmap:
    """Returns the file's bytes; raises BadData for a file that is missing, unreadable or empty."""
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise BadData(path, None, "is empty, or no regular file")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise BadData(path, None, f"cannot be read: {error.strerror}") from error


def lines(data: mmap.mmap) -> Iterator[Line]:
    """Yields the lines that are not blank; a byte order mark is no part of the first."""
    start = 3 if data[:3] == b"\xef\xbb\xbf" else 0
    data.seek(start)
    for number, line in enumerate(iter(data.readline, b""), 1):
        end = start + len(line)
        if text := line.strip():
            yield Line(number, start, end, text)
        start = end


def decoded(text: msgspec.Raw | bytes | memoryview, kind: type[T]) -> T:
    """Returns one JSON value; raises ValueError, saying what is wrong with it."""
    try:
        return msgspec.json.decode(text, type=kind)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error
