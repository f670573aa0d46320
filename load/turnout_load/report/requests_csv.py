"""One row per request, for spreadsheets and notebooks; reads its own rows back.

A time is empty where it never came, a count where the server did not tell it. Texts come from
servers: one that a spreadsheet would run as a formula begins with an apostrophe instead.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from turnout_load.errors import BadData
from turnout_load.metrics.e2e import e2e_ms
from turnout_load.metrics.itl import itl_ms
from turnout_load.metrics.metric import MS
from turnout_load.metrics.send_delay import send_delay_ms
from turnout_load.metrics.ttft import ttft_ms
from turnout_load.record import UNKNOWN, Record

COLUMNS = (
    "index",
    "turn",
    "team",
    "priority",
    "model",
    "status",
    "error",
    "detail",
    "intended_ms",
    "send_delay_ms",
    "ttft_ms",
    "itl_mean_ms",
    "itl_max_ms",
    "e2e_ms",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "chunks",
    "request_id",
)
FORMULA_STARTS = tuple("=+-@\t\r'")


def write_csv(records: Iterable[Record], out: TextIO) -> None:
    """Writes a header and a row for each record; open the file with `newline=""`."""
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    writer.writerows(map(_row, records))


def read_csv(path: Path) -> Iterator[Record]:
    """Yields the records of a file that `write_csv` made; times are exact to half a microsecond.

    The last chunk's arrival is exact to half a microsecond for each gap. Raises BadData with the
    line that cannot be used.
    """
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            rows = csv.DictReader(lines)
            if tuple(rows.fieldnames or ()) != COLUMNS:
                raise BadData(str(path), 1, f"expected the columns {','.join(COLUMNS)}")
            for row in rows:
                try:
                    yield _record(row)
                except (TypeError, ValueError, AttributeError):  # a cell too few, or no number
                    raise BadData(str(path), rows.line_num, "is no row of a request") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadData(str(path), None, f"cannot be read: {error}") from error


def _row(record: Record) -> tuple[str | int, ...]:
    return (
        record.index,
        record.turn,
        _guarded(record.team),
        _count(record.priority),
        _guarded(record.model),
        _count(record.status),
        _guarded(record.error),
        _guarded(record.detail),
        _time(record.intended_ns / MS),
        _time(send_delay_ms(record)),
        _time(ttft_ms(record)),
        _time(itl_ms(record)),
        _time(record.longest_gap_ns / MS if record.chunks > 1 else None),
        _time(e2e_ms(record)),
        _count(record.input_tokens),
        _count(record.output_tokens),
        _count(record.cached_tokens),
        record.chunks,
        _guarded(record.request_id),
    )


def _record(row: dict[str, str]) -> Record:
    intended_ns, chunks = _ns(row["intended_ms"]), int(row["chunks"])
    first_ns = _after(intended_ns, row["ttft_ms"])
    last_ns = first_ns
    if row["itl_mean_ms"]:
        last_ns = first_ns + _ns(row["itl_mean_ms"]) * (chunks - 1)
    return Record(
        index=int(row["index"]),
        turn=int(row["turn"]),
        intended_ns=intended_ns,
        sent_ns=_after(intended_ns, row["send_delay_ms"]),
        first_ns=first_ns,
        last_ns=last_ns,
        end_ns=_after(intended_ns, row["e2e_ms"]),
        status=_known(row["status"]),
        chunks=chunks,
        longest_gap_ns=_ns(row["itl_max_ms"] or "0"),
        input_tokens=_known(row["input_tokens"]),
        output_tokens=_known(row["output_tokens"]),
        cached_tokens=_known(row["cached_tokens"]),
        priority=_known(row["priority"]),
        model=_bare(row["model"]),
        team=_bare(row["team"]),
        error=_bare(row["error"]),
        detail=_bare(row["detail"]),
        request_id=_bare(row["request_id"]),
    )


def _time(value_ms: float | None) -> str:
    return "" if value_ms is None else f"{value_ms:.3f}"


def _count(value: int) -> str | int:
    return "" if value == UNKNOWN else value


def _guarded(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()  # half of a surrogate pair is no text
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _bare(text: str) -> str:
    return text.removeprefix("'")


def _ns(text: str) -> int:
    return round(float(text) * MS)


def _after(intended_ns: int, text: str) -> int:
    return intended_ns + _ns(text) if text else UNKNOWN


def _known(text: str) -> int:
    return int(text) if text else UNKNOWN
