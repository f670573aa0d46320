from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from turnout_load.errors import BadData
from turnout_load.workload.reading import Problems, decoded, lines, mapped


def test_lines_know_their_number_and_place_and_blank_ones_are_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"\xef\xbb\xbf{}\r\n\n  \n[1]")
    assert list(lines(mapped(str(path)))) == [(1, 3, 7, b"{}"), (4, 11, 14, b"[1]")]


@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadData, match=r"cannot be read: (No such file|Is a directory)"):
        mapped(str(tmp_path / name))


def test_an_empty_file_is_refused(write: Callable[..., str]) -> None:
    with pytest.raises(BadData, match=r"empty.csv: is empty"):
        mapped(write("empty.csv"))


def test_json_that_is_nested_without_end_is_only_a_bad_value() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        decoded(b"[" * 100_000, object)


def test_the_first_problems_are_named_and_all_are_counted() -> None:
    problems = Problems("log.jsonl")
    for line in range(1, 31):
        problems.add(line, "is broken")
    named = problems.checked(usable=5)
    assert [str(problem) for problem in named][::19] == [
        "log.jsonl:1: is broken",
        "log.jsonl:20: is broken",
    ]
    assert problems.notes == ("log.jsonl: 30 lines could not be used: left out",)


def test_a_file_of_nothing_but_problems_is_refused_by_its_first() -> None:
    problems = Problems("log.jsonl")
    problems.add(1, "is broken")
    problems.add(2, "is odd")
    with pytest.raises(BadData, match=r"^log.jsonl:1: is broken \(and 1 more") as refused:
        problems.checked(usable=0)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_a_file_without_problems_and_without_anything_else_is_refused() -> None:
    with pytest.raises(BadData, match=r"log.jsonl: holds nothing to send"):
        Problems("log.jsonl").checked(usable=0)
