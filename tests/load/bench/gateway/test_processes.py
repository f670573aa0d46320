from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from turnout_load.bench.gateway.processes import (
    MARK,
    Usage,
    end_all,
    marked,
    rss_mb,
    snapshot,
    spent_s,
)
from turnout_load.bench.gateway.system import Stage

BURN = "while sum(__import__('os').times()[:2]) < 0.3: pass\n"


def test_what_was_spent_is_summed_by_name_and_counts_from_the_first_snapshot() -> None:
    before = {(1, 1.0): Usage("a", 5.0, 100), (2, 1.0): Usage("a", 1.0, 100)}
    after = {
        (1, 1.0): Usage("a", 5.5, 100),
        (2, 1.0): Usage("a", 1.25, 100),
        (3, 2.0): Usage("b", 2.0, 100),  # began in between
    }
    assert spent_s(before, after) == {"b": 2.0, "a": 0.75}


def test_a_process_id_taken_by_another_process_counts_from_nothing() -> None:
    before = {(7, 1.0): Usage("a", 9.0, 0)}
    assert spent_s(before, {(7, 3.0): Usage("a", 0.5, 0)}) == {"a": 0.5}


def test_memory_is_summed_by_name() -> None:
    seen = {
        (1, 1.0): Usage("b", 0, 500_000),
        (2, 1.0): Usage("a", 0, 2_500_000),
        (3, 1.0): Usage("a", 0, 500_000),
    }
    assert rss_mb(seen) == {"a": 3.0, "b": 0.5}


def test_a_childs_cpu_time_is_what_the_kernel_says_of_it(stage: Stage) -> None:
    code = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {BURN!r}]).wait()\n"
    code += "print(flush=True); import time; time.sleep(60)"
    idle = "print(flush=True); import time; time.sleep(60)"
    environment = {MARK: stage.mark}
    with (
        subprocess.Popen(
            [sys.executable, "-c", BURN + idle], stdout=subprocess.PIPE, env=environment
        ) as busy,
        subprocess.Popen(
            [sys.executable, "-c", idle], stdout=subprocess.PIPE, env={MARK: "another"}
        ) as other,
    ):
        for process in (busy, other):
            assert process.stdout
            process.stdout.readline()
        seen = snapshot(stage.mark)
        ticks = Path(f"/proc/{busy.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        assert [pid for pid, _ in seen] == [busy.pid]
        (usage,) = seen.values()
        assert usage.cpu_s == pytest.approx(sum(map(int, ticks)) / 100)  # man 5 proc: utime, stime
        assert usage.cpu_s >= 0.29
        end_all(stage.mark)
        assert not marked(stage.mark)
        assert psutil.Process(other.pid).is_running()
        other.kill()
