from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from turnout_load.bench import running
from turnout_load.bench.peer import Command
from turnout_load.bench.running import run_bound

CPU = min(os.sched_getaffinity(0))


def test_a_tool_and_what_it_starts_run_on_one_core_with_its_inputs(tmp_path: Path) -> None:
    said = "os.sched_getaffinity(0), os.environ['GIVEN'], open('in').read()"
    code = f"import os; print({said})"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    command = Command((sys.executable, "-c", child), {tmp_path / "in": "read"}, {"GIVEN": "set"})
    assert run_bound(command, CPU, tmp_path, 60.0)
    assert (tmp_path / "log.txt").read_text().split() == [f"{{{CPU}}}", "set", "read"]


def test_a_tool_that_fails_did_not_end_well(tmp_path: Path) -> None:
    assert not run_bound(Command((sys.executable, "-c", "1/0")), CPU, tmp_path, 60.0)
    assert "ZeroDivisionError" in (tmp_path / "log.txt").read_text()


def test_a_tool_that_does_not_end_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "START_AND_END_S", 0.0)
    child = "import time; time.sleep(600)"
    code = (
        "import subprocess, sys, time; "
        f"print(subprocess.Popen([sys.executable, '-c', {child!r}]).pid, flush=True); "
        "time.sleep(600)"
    )
    assert not run_bound(Command((sys.executable, "-c", code)), CPU, tmp_path, 3.0)
    pid = int((tmp_path / "log.txt").read_text())
    for _ in range(200):
        if has_ended(pid):
            break
        time.sleep(0.05)
    assert has_ended(pid)


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
