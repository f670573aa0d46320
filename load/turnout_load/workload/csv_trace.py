"""Traces kept as CSV: Azure's LLM inference traces, BurstGPT's, and this tool's own requests.

Columns are found by their names in the header; others may stand beside them. A row is one line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from sys import intern

from turnout_load.errors import BadData
from turnout_load.workload.reading import MOST_TOKENS, Line, Problems, lines, mapped
from turnout_load.workload.source import Source, in_time_order
from turnout_load.workload.text import Prose
from turnout_load.workload.token_rows import SizedRequests, TokenRows

UNKNOWN = ("", "-1")
UNANSWERED = (*UNKNOWN, "0")
"""Output tokens of a request that failed when it was recorded."""

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of a trace's columns, and how its time is read."""

    time: str
    read_ns: Callable[[str], int]
    input_tokens: str
    output_tokens: str


def read(path: str, columns: Columns, prose: Prose, seed: int) -> Source:
    """Reads and checks a trace; raises BadData if no row of it can be used."""
    rows, problems, unanswered = TokenRows(), Problems(path), 0
    body = lines(mapped(path))
    header = _header(body, columns, path)
    for line in body:
        try:
            row = _row(line, header)
            if row[columns.output_tokens] in UNANSWERED:
                unanswered += 1
            else:
                _add(row, columns, rows)
        except ValueError as error:
            problems.add(line.number, error)
    named = problems.checked(len(rows.times_ns))
    offsets, order = in_time_order(rows.times_ns)
    notes = problems.notes
    if unanswered:
        failed = f"requests without output tokens (they failed): {unanswered} left out"
        notes = (*notes, f"{path}: {failed}")
    return Source(SizedRequests(rows, order, prose, seed), len(order), offsets, named, notes)


def _header(body: Iterator[Line], columns: Columns, path: str) -> list[str]:
    line = next(body, None)
    header = _cells(line) if line else []
    wanted = (columns.time, columns.input_tokens, columns.output_tokens)
    if missing := [name for name in wanted if name not in header]:
        raise BadData(path, 1, f"expected a header with {','.join(wanted)}: no {missing[0]!r}")
    return header


def _cells(line: Line) -> list[str]:
    text = line.text.decode(errors="replace")
    if '"' not in text:
        return text.split(",")  # a third of the time, for files of a million rows
    # Each line by itself: an unclosed quote would otherwise swallow the lines after it.
    try:
        return next(csv.reader((text,)))
    except csv.Error as error:
        raise ValueError(str(error)) from error


def _row(line: Line, header: list[str]) -> Row:
    cells = _cells(line)
    if len(cells) != len(header):
        raise ValueError(f"it has {len(cells)} columns, the header has {len(header)}")
    return dict(zip(header, cells, strict=True))


def _add(row: Row, columns: Columns, rows: TokenRows) -> None:
    time_ns = columns.read_ns(row[columns.time])
    lengths = _tokens(row, columns.input_tokens), _tokens(row, columns.output_tokens)
    if "team" in row or "priority" in row:
        rows.labels.append((intern(row.get("team", "")), _priority(row)))
    rows.times_ns.append(time_ns)
    rows.input_tokens.append(lengths[0])
    rows.output_tokens.append(lengths[1])


def _tokens(row: Row, name: str) -> int:
    text = row[name]
    if not text.isdecimal() or not 1 <= int(text) <= MOST_TOKENS:
        raise ValueError(f"{name} {text!r}: expected a number of tokens from 1 to {MOST_TOKENS}")
    return int(text)


def _priority(row: Row) -> int | None:
    text = row.get("priority", "")
    return None if text in UNKNOWN else int(text)


def _stamp_ns(text: str) -> int:
    """Reads `2023-11-16 18:15:46.6805900`, with up to 9 decimals, as nanoseconds since 1970."""
    stamp = STAMP.fullmatch(text)
    if not stamp:
        raise ValueError(f"time {text!r}: expected such as 2023-11-16 18:15:46.6805900")
    seconds = int(datetime.fromisoformat(stamp[1]).replace(tzinfo=UTC).timestamp())
    return seconds * 1_000_000_000 + int((stamp[2] or "").ljust(9, "0"))


def _number_ns(text: str, unit_ns: int) -> int:
    try:
        time = float(text)
    except ValueError:
        time = -1.0
    if not 0 <= time * unit_ns < 1e18:
        raise ValueError(f"time {text!r}: expected a number of 0 or more")
    return round(time * unit_ns)


STAMP = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:\+00:00|Z)?")
AZURE = Columns("TIMESTAMP", _stamp_ns, "ContextTokens", "GeneratedTokens")
BURSTGPT = Columns(
    "Timestamp",
    partial(_number_ns, unit_ns=1_000_000_000),
    "Request tokens",
    "Response tokens",
)
OWN = Columns(
    "intended_ms", partial(_number_ns, unit_ns=1_000_000), "input_tokens", "output_tokens"
)
