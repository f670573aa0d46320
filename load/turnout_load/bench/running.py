"""Runs a tool with all of its processes bound to one CPU core."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from turnout_load.bench.peer import Command

START_AND_END_S = 120.0
"""What a tool may take before and after its run."""


def run_bound(command: Command, cpu: int, folder: Path, duration_s: float) -> bool:
    """Runs it in `folder`, its words in `log.txt` there; returns whether it ended well in time."""
    for path, text in command.inputs.items():
        path.write_text(text)
    argv = ("taskset", "--cpu-list", str(cpu), *command.argv)
    with (
        (folder / "log.txt").open("w") as log,
        subprocess.Popen(
            argv,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **command.environment},
            start_new_session=True,
        ) as process,
    ):
        try:
            return process.wait(duration_s + START_AND_END_S) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with suppress(ProcessLookupError):  # what it started and left behind ends with it
                os.killpg(process.pid, signal.SIGKILL)
