"""HAProxy is started by our command, which turns splice() off and changes nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnout.cluster import haproxy, ray_head
from turnout.cluster.run_dir import RunDir

COMMAND = Path(sys.executable).with_name("turnout-haproxy")


def test_serve_is_told_to_start_our_command(tmp_path: Path) -> None:
    made = ray_head.environment("r", RunDir(tmp_path), {})
    assert made["RAY_SERVE_HAPROXY_BINARY_PATH"] == str(COMMAND)
    assert os.access(COMMAND, os.X_OK)


def test_an_operators_own_haproxy_is_left_in_place(tmp_path: Path) -> None:
    own = {haproxy.BINARY_PATH: "/opt/haproxy"}
    assert ray_head.environment("r", RunDir(tmp_path), own)[haproxy.BINARY_PATH] == "/opt/haproxy"


def test_the_command_becomes_haproxy_without_splice(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, words: became.append(words))
    monkeypatch.setattr(sys, "argv", ["turnout-haproxy", "-f", "a.cfg", "-sf", "7"])
    monkeypatch.setenv(haproxy.BINARY_PATH, str(COMMAND))  # as a replica inherits it
    haproxy.main()
    [[program, *words]] = became
    assert words == ["-f", "a.cfg", "-sf", "7", "-dS"]
    about = subprocess.run([program, "-v"], capture_output=True, text=True, check=True)
    assert about.stdout.startswith("HAProxy version")
