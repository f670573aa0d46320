"""Finds and ends the processes of one run, by the id that they all carry in their environment.

Daemons, workers, engines and HAProxy inherit it, so even orphans of a killed parent are found,
and nothing of anyone else's is ever touched.
"""

import contextlib
import time
from collections.abc import Iterable

import psutil

RUN_ID = "TURNOUT_RUN_ID"


def processes_of(run_id: str) -> list[psutil.Process]:
    """Returns the living processes of this user that carry the run's id."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            carries = process.environ().get(RUN_ID) == run_id
            if carries and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_all(run_id: str, grace_s: float = 4.0) -> int:
    """Ends the run's processes: SIGTERM, then SIGKILL after `grace_s`; returns how many there were.

    Looks again until none is left, since a dying parent may have started one more.
    """
    ended: set[int] = set()
    deadline = time.monotonic() + grace_s
    while left := processes_of(run_id):
        ended.update(process.pid for process in left)
        is_late = time.monotonic() > deadline
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill() if is_late else process.terminate()
        psutil.wait_procs(left, timeout=1.0)
    return len(ended)


def holder_of(port: int) -> str | None:
    """Says which process listens on a TCP port (`name (pid N)`), or None when it is free."""
    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and tuple(connection.laddr)[1:] == (port,):
            return _describe(connection.pid)
    return None


def listening(processes: Iterable[psutil.Process]) -> list[tuple[str, int, int]]:
    """Returns (host, port, pid) of every TCP port that the processes listen on."""
    found = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            for connection in process.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN:
                    found.append((connection.laddr.ip, connection.laddr.port, process.pid))
    return sorted(found)


def memory_bytes(processes: Iterable[psutil.Process]) -> int:
    """Returns the proportional set size (PSS) of the processes together, in bytes."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total


def _describe(pid: int | None) -> str:
    if pid is None:
        return "a process of another user"
    try:
        return f"{psutil.Process(pid).name()} (pid {pid})"
    except psutil.NoSuchProcess:
        return f"pid {pid}"
