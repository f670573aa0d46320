"""Reading files by lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnout.batches import lines
from turnout.batches.lines import lines_of


async def read(path: Path, data: bytes, most: int = 10) -> list[tuple[int, bytes]]:
    path.write_bytes(data)
    return [each async for each in lines_of(path, most)]


@pytest.mark.parametrize("block", [1, 2, 3, 5, 100])
async def test_lines_are_the_same_however_the_disk_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(lines, "BLOCK", block)
    data = b"one\n\n  \ntwo\r\n" + b"x" * 35 + b"\nlast"
    assert await read(tmp_path / "f", data) == [
        (1, b"one"),
        (4, b"two\r"),
        (5, b"x" * 11),
        (6, b"last"),
    ]


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n \n"])
async def test_a_file_without_a_line_has_none(tmp_path: Path, data: bytes) -> None:
    assert await read(tmp_path / "f", data) == []


async def test_a_long_last_line_is_given_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK", 4)
    assert await read(tmp_path / "f", b"a\n" + b"x" * 30) == [(1, b"a"), (2, b"x" * 11)]
