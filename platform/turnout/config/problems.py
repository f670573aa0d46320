"""What is wrong in a config file, and where."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

_MAX_LISTED = 40

Loc = tuple[str | int, ...]
"""Keys and list indexes from the root of the file down to a value."""


@dataclass(frozen=True)
class Problem:
    """One mistake: the path in the file, the value found there and what would be right."""

    path: str
    value: object
    message: str
    line: int | None = None

    def __str__(self) -> str:
        """Reads as `line 12: applications[1].args.context_window: … (found: 0)`."""
        line = f"line {self.line}" if self.line else ""
        where = ": ".join(filter(None, (line, self.path)))
        found = "" if self.value is None else f" (found: {shortened(self.value)})"
        return f"{where}: {self.message}{found}" if where else f"{self.message}{found}"


@dataclass(frozen=True)
class Document:
    """A parsed file: its data, the line of every value, and what was wrong already."""

    data: object
    lines: Mapping[Loc, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def line(self, loc: Loc) -> int | None:
        """Line of a value, or of the nearest one around it."""
        for length in range(len(loc), -1, -1):
            if loc[:length] in self.lines:
                return self.lines[loc[:length]]
        return None

    def existing(self, loc: Loc) -> Loc:
        """The part of a location that is in the file."""
        value = self.data
        for depth, part in enumerate(loc):
            if not _has(value, part):
                return loc[:depth]
            value = value[part]  # type: ignore[index]
        return loc

    def problem(self, loc: Loc, value: object, message: str) -> Problem:
        """Makes the problem of the value at `loc`."""
        return Problem(path_of(loc), value, message, self.line(loc))


def _has(data: object, part: str | int) -> bool:
    if isinstance(data, Mapping):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def path_of(loc: Loc) -> str:
    """Writes a location as a path: `applications[1].args.context_window`."""
    return "".join(map(_step, loc)).removeprefix(".")


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if re.fullmatch(r"[\w-]+", part) else f'["{part}"]'


def closest(wrong: object, known: Sequence[str]) -> str:
    """Says which of the known names a wrong one probably means, or lists them."""
    near = get_close_matches(str(wrong), known, n=1)
    if near:
        return f"did you mean '{near[0]}'?"
    if len(known) > _MAX_LISTED:
        return "no known name is like it"
    return f"known: {', '.join(known)}" if known else "nothing may stand here"


def shortened(value: object, limit: int = 120) -> str:
    """Writes a value on one line of bounded length."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
