"""Checks a batch's input before any of it runs: one wrong line fails the batch, as at OpenAI."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from turnout.batches.line import Problem, Rules, check
from turnout.batches.lines import lines_of

MOST_ERRORS = 100
"""Errors told of one batch; the rest of its lines is not looked at."""


@dataclass
class Findings:
    """How many lines an input has, and what is wrong with them."""

    total: int = 0
    errors: list[Mapping[str, Any]] = field(default_factory=list)


async def validate(path: Path, rules: Rules, max_lines: int) -> Findings:
    """Looks at every line; raises OSError."""
    found, seen = Findings(), set[str]()
    async for number, raw in lines_of(path, rules.max_line_bytes):
        found.total += 1
        if found.total > max_lines:
            problem = Problem("too_many_lines", f"a batch may have {max_lines} lines at most")
            found.errors.append(problem.as_json(None))
            break
        try:
            check(raw, rules, seen)
        except Problem as problem:
            found.errors.append(problem.as_json(number))
            if len(found.errors) == MOST_ERRORS:
                break
    if not found.total:
        found.errors.append(Problem("empty_file", "the input file has no line").as_json(None))
    return found
