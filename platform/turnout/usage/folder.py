"""A journal's folder and its lock, which tells a running process's folder from a dead one's.

The operating system frees the lock when its holder ends, however it ends.
"""

import fcntl
import os
import time
from pathlib import Path
from typing import Self

from turnout.errors import TurnoutError

_LOCK = "lock"


class FolderInUse(TurnoutError):
    """Another running process keeps its journal in this folder."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"another process keeps its usage journal in {self.path}: give each its own folder"


class Folder:
    """A locked folder of segments: files named by rising numbers, oldest first."""

    def __init__(self, path: Path, lock: int) -> None:
        """Takes an open, locked descriptor: see `claim` and `try_claim`."""
        self.path = path
        self._lock = lock

    @classmethod
    def claim(cls, path: Path, within_s: float = 5.0) -> Self:
        """Makes the folder and locks it; raises `FolderInUse` where another process keeps it.

        One that only replays what it took for a dead process's folder is waited for.
        """
        deadline = time.monotonic() + within_s
        while True:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = cls.try_claim(path)
            if folder is not None:
                return folder
            if time.monotonic() > deadline:
                raise FolderInUse(str(path))
            time.sleep(0.01)

    @classmethod
    def try_claim(cls, path: Path) -> Self | None:
        """Locks a folder; None where it is gone or a running process holds it."""
        lock_path = path / _LOCK
        try:
            descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between the opening and the lock another process may have removed the folder.
            if os.stat(lock_path).st_ino == os.fstat(descriptor).st_ino:
                return cls(path, descriptor)
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(descriptor)
        return None

    def segments(self) -> list[Path]:
        """Returns the segments, oldest first."""
        return sorted(self.path.glob("*.jsonl"))

    def segment(self, number: int) -> Path:
        """Returns a segment's path."""
        return self.path / f"{number:012d}.jsonl"

    def release(self) -> None:
        """Removes the folder if it has no segments, then lets go of it."""
        if not self.segments():
            (self.path / _LOCK).unlink()
            self.path.rmdir()
        os.close(self._lock)
