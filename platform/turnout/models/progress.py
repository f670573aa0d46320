"""How far the fetching of a model is."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_POLL_S = 0.5


@dataclass(frozen=True)
class Progress:
    """One report: what is being done for which source, and how much of it in bytes."""

    stage: Literal["download", "verify", "convert", "ready"]
    source: str
    done_bytes: int
    total_bytes: int | None


Report = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """Report to nobody."""


def folder_bytes(folder: Path) -> int:
    """Size of all files below a folder that may change meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += 0 if path.is_dir() else path.stat().st_size
        except FileNotFoundError:  # moved or deleted since the listing
            continue
    return total


@contextmanager
def watched(folder: Path, each: Callable[[int], None]) -> Iterator[None]:
    """Tell `each` the folder's size in bytes twice a second while the block runs."""
    done = threading.Event()

    def poll() -> None:
        while not done.wait(_POLL_S):
            each(folder_bytes(folder))

    watcher = threading.Thread(target=poll, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
