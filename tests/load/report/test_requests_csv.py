import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from turnout_load.errors import BadData
from turnout_load.record import Record
from turnout_load.report.requests_csv import read_csv, write_csv

Make = Callable[..., Record]


def written(path: Path, *records: Record) -> Path:
    with path.open("w", newline="", encoding="utf-8") as out:
        write_csv(records, out)
    return path


def test_a_row_holds_a_request_with_times_to_the_microsecond(make_request: Make) -> None:
    out = io.StringIO()
    write_csv([make_request(3, at=1.2345, turn=2, team="search", priority=5, request_id="r")], out)
    (row,) = csv.DictReader(io.StringIO(out.getvalue()))
    assert row == {
        "index": "3",
        "turn": "2",
        "team": "search",
        "priority": "5",
        "model": "small",
        "status": "200",
        "error": "",
        "detail": "",
        "intended_ms": "1.234",
        "send_delay_ms": "10.000",
        "ttft_ms": "50.000",
        "itl_mean_ms": "10.000",
        "itl_max_ms": "12.000",
        "e2e_ms": "150.000",
        "input_tokens": "7",
        "output_tokens": "11",
        "cached_tokens": "",
        "chunks": "11",
        "request_id": "r",
    }


def test_what_never_came_is_empty() -> None:
    out = io.StringIO()
    write_csv([Record(index=0, error="connect", detail="refused")], out)
    (row,) = csv.DictReader(io.StringIO(out.getvalue()))
    known = {name: value for name, value in row.items() if value}
    assert known == {
        "index": "0",
        "turn": "0",
        "error": "connect",
        "detail": "refused",
        "intended_ms": "0.000",
        "chunks": "0",
    }


def test_rows_read_back_are_the_records_written(tmp_path: Path, make_request: Make) -> None:
    records = [
        make_request(0, at=3),
        make_request(1, detail='a "quoted", text\nof two lines', error="bad_sse", chunks=0),
        Record(index=2, turn=1, intended_ns=5_000_000, error="connect"),
        make_request(3, first_ns=-1, last_ns=-1, chunks=0, longest_gap_ns=0),
    ]
    records[1].last_ns = records[1].first_ns
    records[1].longest_gap_ns = 0
    assert list(read_csv(written(tmp_path / "requests.csv", *records))) == records


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\t=1", "'=1"])
def test_no_text_of_a_server_is_a_formula(tmp_path: Path, make_request: Make, text: str) -> None:
    path = written(tmp_path / "requests.csv", make_request(0, detail=text, model=text))
    (row,) = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    assert row["detail"] == row["model"] == f"'{text}"
    assert next(read_csv(path)).detail == text


def test_half_a_surrogate_pair_is_written_as_a_question_mark(
    tmp_path: Path, make_request: Make
) -> None:
    path = written(tmp_path / "requests.csv", make_request(0, detail="\ud83d"))
    assert next(read_csv(path)).detail == "?"


def test_a_broken_row_is_refused_with_its_line(tmp_path: Path, make_request: Make) -> None:
    path = written(tmp_path / "requests.csv", make_request(0), make_request(1))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], "1,0,short"]))
    with pytest.raises(BadData, match=r"requests\.csv:3: is no row of a request"):
        list(read_csv(path))


def test_a_number_that_is_none_is_refused_with_its_line(tmp_path: Path, make_request: Make) -> None:
    path = written(tmp_path / "requests.csv", make_request(0))
    path.write_text(path.read_text().replace("50.000", "fast"))
    with pytest.raises(BadData, match=r"requests\.csv:2: "):
        list(read_csv(path))


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadData, match=r"other\.csv:1: expected the columns index,turn,"):
        list(read_csv(tmp_path / "other.csv"))
    with pytest.raises(BadData, match=r"none\.csv: cannot be read"):
        list(read_csv(tmp_path / "none.csv"))
