"""Ctrl-C, as a terminal sends it to a command and all its processes: what was measured is kept."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

import psutil
import pytest

COMMAND = Path(sys.executable).with_name("turnout-load")


class Begun:
    """A command under way, in a process group of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.pid = process.pid
        self._process = process

    def line(self) -> str:
        return cast(IO[str], self._process.stdout).readline()

    def line_with(self, words: str) -> str:
        while words not in (said := self.line()):
            assert said, f"it ended without saying {words!r}"
        return said

    def processes(self) -> set[psutil.Process]:
        return set(psutil.Process(self.pid).children())

    def interrupt(self) -> tuple[int, str]:
        """Presses Ctrl-C; returns the exit code, and what was said to the end."""
        os.killpg(self.pid, signal.SIGINT)
        said, wrong = self._process.communicate(timeout=30)
        assert "Traceback" not in wrong
        return self._process.returncode, said


@contextmanager
def begun(*words: object) -> Iterator[Begun]:
    with subprocess.Popen(
        [COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Begun(process)
        finally:
            process.kill()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key's file that is a pipe: a worker process waits in its start until it is written to."""
    path = tmp_path / "key"
    os.mkfifo(path)
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_an_interrupted_run_writes_what_it_measured(mock: str, tmp_path: Path) -> None:
    words = ("run", "--url", mock, "--model", "m", "--rate", 50, "--duration", 60)
    with begun(*words, "--out", tmp_path) as run:
        assert "sent" in run.line()  # it tells its first figures
        code, _ = run.interrupt()
    result = read(tmp_path / "result.json")
    assert (code, result["was_stopped"]) == (0, True)
    assert result["requests"]["ok"] > 0


def test_an_interrupted_sweep_writes_what_it_found(mock: str, tmp_path: Path) -> None:
    words = ("sweep", "--url", mock, "--model", "m", "--duration", 60, "--slo", "ttft.p50<10s")
    with begun(*words, "--lowest", 50, "--out", tmp_path) as sweep:
        assert "sent" in sweep.line()
        code, _ = sweep.interrupt()
    found = read(tmp_path / "sweep.json")
    assert (code, found["points"], found["highest_rate"]) == (1, [], None)
    assert found["notes"][0].startswith("stopped while 50/s ran")
    assert "No rate that was tried" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("at", ["its birth", "its key"])
def test_a_sweep_that_is_interrupted_while_its_next_rate_starts_keeps_those_before(
    mock: str, tmp_path: Path, key: Path, at: str
) -> None:
    words = ("sweep", "--url", mock, "--model", "m", "--requests", 10, "--slo", "ttft.p50<10s")
    with begun(*words, "--lowest", 20, "--api-key-file", key, "--out", tmp_path / "r") as sweep:
        key.write_text("k")
        before = sweep.processes()
        sweep.line_with("20/s meets")
        while not sweep.processes() - before:
            pass  # the next rate's process is about to start
        with key.open("w") if at == "its key" else nullcontext():  # it has started, and asks
            code, said = sweep.interrupt()
    found = read(tmp_path / "r/sweep.json")
    assert (code, found["highest_rate"]) == (0, 20)
    assert [point["rate"] for point in found["points"]] == [20]
    assert found["notes"][0].startswith("stopped while 40/s ran")
    assert "Up to 20 conversations per second" in said


def test_a_comparison_that_is_interrupted_while_its_next_run_starts_keeps_its_rounds(
    mock: str, tmp_path: Path, key: Path
) -> None:
    words = ("compare", "a", "b", "--url", mock, "--requests", 10, "--rate", 20, "--rounds", 3)
    with begun(*words, "--api-key-file", key, "--out", tmp_path / "r") as comparison:
        for _ in range(2):
            key.write_text("k")
            comparison.line_with("sent ")  # said at the run's end
        with key.open("w"):
            code, _ = comparison.interrupt()
    found = read(tmp_path / "r/comparison.json")
    assert (code, found["rounds"], found["pairs"]) == (0, 1, 10)
    assert "stopped after 1 of 3 rounds: what came later is left out" in found["notes"]
