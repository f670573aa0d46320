"""A system's processes: started on one core, found by a mark in their environment, measured, ended.

Daemons, workers and proxies inherit the mark, so that orphans are found too, and nothing of anyone
else's is ever counted or ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

from turnout_load.bench.gateway.system import Stage, SystemFailed

MARK = "TURNOUT_BENCH_SYSTEM"
GRACE_S = 5.0


@dataclass(frozen=True)
class Usage:
    """What a process has used since it began."""

    name: str
    cpu_s: float
    """User and system time."""
    rss_bytes: int


Snapshot = Mapping[tuple[int, float], Usage]
"""Usage by process id and start time, which together name a process for good."""


def marked(mark: str) -> list[psutil.Process]:
    """Returns the living processes that carry the mark."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            carries = process.environ().get(MARK) == mark
            if carries and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def snapshot(mark: str) -> Snapshot:
    """Returns what every marked process has used so far."""
    seen = {}
    for process in marked(mark):
        with suppress(psutil.Error), process.oneshot():
            times = process.cpu_times()
            usage = Usage(process.name(), times.user + times.system, process.memory_info().rss)
            seen[process.pid, process.create_time()] = usage
    return seen


def spent_s(before: Snapshot, after: Snapshot) -> dict[str, float]:
    """Returns CPU seconds by process name between two snapshots; the largest first. Pure.

    What a process used that ended in between is not known, and not in it.
    """
    spent: defaultdict[str, float] = defaultdict(float)
    for key, usage in after.items():
        spent[usage.name] += usage.cpu_s - (before[key].cpu_s if key in before else 0.0)
    return _largest_first(spent)


def rss_mb(seen: Snapshot) -> dict[str, float]:
    """Returns resident memory in megabytes (10⁶ bytes) by process name; the largest first. Pure."""
    resident: defaultdict[str, float] = defaultdict(float)
    for usage in seen.values():
        resident[usage.name] += usage.rss_bytes / 1e6
    return _largest_first(resident)


def _largest_first(by_name: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(by_name.items(), key=lambda each: -each[1]))


def unbound(mark: str, cpu: int) -> list[str]:
    """Returns the names of marked processes that may run on another core too."""
    found = []
    for process in marked(mark):
        with suppress(psutil.Error):
            if process.cpu_affinity() != [cpu]:
                found.append(process.name())
    return found


def bound(stage: Stage, argv: Sequence[str]) -> tuple[str, ...]:
    """Returns the command that runs another one on the stage's core."""
    return ("taskset", "--cpu-list", str(stage.cpu), *argv)


def environment(stage: Stage, more: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of a system's processes."""
    # setproctitle would write a process's title over its environment, and the mark with it
    return {**os.environ, "SPT_NOENV": "1", **more, MARK: stage.mark}


@contextmanager
def launched(
    stage: Stage, argv: Sequence[str], more: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a server on the stage's core, its words in the stage's log, and ends it afterwards."""
    with (
        stage.log.open("w") as log,
        subprocess.Popen(
            bound(stage, argv),
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=stage.folder,
            env=environment(stage, more),
            start_new_session=True,
        ) as process,
        ended_after(stage),
    ):
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)  # also where the mark cannot be read


@contextmanager
def ended_after(stage: Stage) -> Iterator[None]:
    """Ends every process of the stage when the context is left."""
    try:
        yield
    finally:
        end_all(stage.mark)


def end_all(mark: str) -> None:
    """Ends the marked processes: SIGTERM, then SIGKILL, until none is left."""
    deadline = time.monotonic() + GRACE_S
    while left := marked(mark):
        is_late = time.monotonic() > deadline
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill() if is_late else process.terminate()
        psutil.wait_procs(left, timeout=1.0)


def last_words(stage: Stage) -> str:
    """Returns the end of the stage's log."""
    return stage.log.read_text(errors="replace")[-3000:] if stage.log.exists() else ""


def failed(system: str, problem: str, stage: Stage) -> SystemFailed:
    """Returns the error that tells a problem with the end of the log."""
    return SystemFailed(system, problem, last_words(stage))
