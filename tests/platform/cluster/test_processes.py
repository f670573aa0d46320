"""A run's processes are found by their environment, orphans included, and nobody else's are."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from turnout.cluster.processes import RUN_ID, end_all, holder_of, listening, processes_of

SLEEP = "import time; time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP
ORPHANING = (
    "import subprocess, sys; "
    f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)"
)


@pytest.fixture
def run_id() -> Iterator[str]:
    """A run of this test's own; whatever is left of it is killed."""
    name = f"test-{os.getpid()}-{time.monotonic_ns()}"
    yield name
    for process in processes_of(name):
        process.kill()


def start(run_id: str, code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, RUN_ID: run_id})


def wait_for(run_id: str, count: int) -> list[psutil.Process]:
    for _ in range(100):
        if len(found := processes_of(run_id)) == count:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{len(processes_of(run_id))} processes instead of {count}")


def test_orphans_of_a_finished_parent_are_found_and_ended(run_id: str) -> None:
    start(run_id, ORPHANING).wait()
    (orphan,) = wait_for(run_id, 1)
    assert end_all(run_id) == 1
    assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE


def test_another_runs_processes_are_left_alone(run_id: str) -> None:
    ours, others = start(run_id, SLEEP), start(run_id + "-other", SLEEP)
    try:
        wait_for(run_id, 1)
        end_all(run_id)
        assert ours.wait(5) is not None
        assert others.poll() is None
    finally:
        others.kill()
        others.wait()


def test_a_process_that_ignores_sigterm_is_killed_after_the_grace(run_id: str) -> None:
    stubborn = start(run_id, STUBBORN)
    wait_for(run_id, 1)
    time.sleep(0.3)  # until it ignores the signal
    assert end_all(run_id, grace_s=0.5) == 1
    stubborn.wait(5)
    assert processes_of(run_id) == []


def test_the_holder_of_a_port_is_named() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        assert holder_of(port) is None
        sock.listen()
        assert holder_of(port) == f"{psutil.Process().name()} (pid {os.getpid()})"
        assert ("127.0.0.1", port, os.getpid()) in listening([psutil.Process()])
    assert holder_of(port) is None
