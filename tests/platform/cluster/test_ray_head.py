"""How the head is started: on this machine only, with a token, and with its id for every child."""

import socket
from pathlib import Path

import pytest

from turnout.cluster import ray_head
from turnout.cluster.errors import NotRunning, PortTaken, RunDirTooLong
from turnout.cluster.run_dir import MAX_PATH_BYTES, Run, RunDir
from turnout_deployments.locked import KEY_FILE

RUN = Run(
    id="r1",
    config="/c.yaml",
    http_host="127.0.0.1",
    http_port=8000,
    gcs_port=6000,
    dashboard_port=8265,
    started_at="2026-01-01T00:00:00+00:00",
    ports=(8000, 8265),
)


def test_the_head_listens_on_this_machine_only(tmp_path: Path) -> None:
    words = ray_head.command(RUN, RunDir(tmp_path))
    assert {"--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1"} <= set(words)
    assert {"--port=6000", "--dashboard-port=8265", f"--temp-dir={tmp_path}/ray"} <= set(words)


def test_daemons_inherit_the_run_id_and_the_token(tmp_path: Path) -> None:
    made = ray_head.environment("r1", RunDir(tmp_path), {"PATH": "/bin", "HOME": "/h"})
    assert made["TURNOUT_RUN_ID"] == "r1"
    assert made["RAY_AUTH_MODE"] == "token"
    assert made["RAY_AUTH_TOKEN_PATH"] == str(tmp_path / "ray-token")
    assert made["HOME"] == "/h"
    assert made["PATH"].endswith(":/bin")


def test_serves_ordinary_proxy_can_be_asked_for(tmp_path: Path) -> None:
    asked = {"RAY_SERVE_ENABLE_HA_PROXY": "0"}
    made = [ray_head.environment("r", RunDir(tmp_path), env) for env in ({}, asked)]
    assert [env["RAY_SERVE_ENABLE_HA_PROXY"] for env in made] == ["1", "0"]


def test_the_holder_of_a_needed_port_is_told() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        port = sock.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"port {port} \(gateway\) is held by .* \(pid \d+\)"):
            ray_head.check_ports({port: "gateway"})


def test_a_run_is_recorded_and_forgotten(tmp_path: Path) -> None:
    folder = RunDir(tmp_path)
    with pytest.raises(NotRunning, match="turnout up"):
        folder.run()
    folder.save(RUN)
    assert folder.run() == RUN
    assert RUN.url == "http://127.0.0.1:8000"
    folder.forget()
    with pytest.raises(NotRunning):
        folder.run()


def test_the_token_is_made_once_and_for_this_user_alone(tmp_path: Path) -> None:
    token = RunDir(tmp_path).token()
    assert len(token) == 64
    assert RunDir(tmp_path).token() == token
    assert (tmp_path / "ray-token").stat().st_mode & 0o777 == 0o600


def test_every_run_has_its_own_key_of_the_replicas_ports(tmp_path: Path) -> None:
    folder, keys = RunDir(tmp_path), set()
    for _ in range(2):
        folder.renew_replica_key()
        keys.add(folder.replica_key_path.read_text())
    assert [len(key) for key in keys] == [64, 64]
    assert folder.replica_key_path.stat().st_mode & 0o777 == 0o600
    made = ray_head.environment("r", folder, {})
    assert made[KEY_FILE] == str(folder.replica_key_path)


def test_a_run_folder_too_long_for_sockets_is_refused() -> None:
    with pytest.raises(RunDirTooLong, match="TURNOUT_RUN_DIR"):
        RunDir(Path("/tmp/" + "x" * MAX_PATH_BYTES)).create()
