from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Returns a function that writes lines to a file of a name, and returns its path."""

    def written(name: str, *lines: str, end: str = "\n") -> str:
        path = tmp_path / name
        path.write_text("".join(line + end for line in lines), encoding="utf-8")
        return str(path)

    return written
