"""Virtual environments for other tools, from their lock files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from turnout_load.bench.peer import PeerFailed

INSTALLED = "installed.txt"
"""In a finished environment: the lock file that it was made from."""


def made(folder: Path, lock: Path) -> Path:
    """Returns the environment's interpreter; makes it where it is missing or the lock changed.

    Where pip's own index lacks torch's CPU build, its environment variable names one that has it:
    `PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu`. Raises `PeerFailed`.
    """
    python, stamp = folder / "bin" / "python", folder / INSTALLED
    wanted = lock.read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        _run(lock.stem, sys.executable, "-m", "venv", str(folder))
        install = ("-m", "pip", "install", "--quiet", "--no-deps", "-r", str(lock))
        _run(lock.stem, str(python), *install)
        stamp.write_text(wanted)
    return python


def _run(tool: str, *argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerFailed(tool, "cannot be installed", done.stderr[-2000:])


def locked_version(lock: Path, distribution: str) -> str:
    """Returns the version that a lock file pins; raises `PeerFailed`."""
    for line in lock.read_text().splitlines():
        name, _, version = line.partition("==")
        if name == distribution:
            return version
    raise PeerFailed(distribution, f"is not in {lock}", "")
