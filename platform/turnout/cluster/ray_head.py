"""How the local Ray head is started: its environment and command line are pure functions."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from turnout.cluster import haproxy
from turnout.cluster.errors import PortTaken, RayDidNotStart
from turnout.cluster.processes import RUN_ID, holder_of
from turnout.cluster.run_dir import Run, RunDir

STATS_PORT, METRICS_PORT = 8404, 9101
"""HAProxy's own pages: a fixed template of Ray's binds them on all interfaces."""
REPLICA_KEY_FILE = "TURNOUT_REPLICA_KEY_FILE"
"""The variable by which replicas find the key of their ports (`turnout_deployments.locked`)."""


def auth_environment(run_dir: RunDir) -> dict[str, str]:
    """Returns what any Ray or Serve command needs to talk to this cluster."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(run_dir.token_path)}


def environment(run_id: str, run_dir: RunDir, inherited: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of Ray's daemons, and so of every process they start."""
    commands, folder = Path(sys.executable).parent, run_dir.haproxy
    ours = {
        RUN_ID: run_id,
        "SPT_NOENV": "1",  # keeps the run id readable after Ray and vLLM set their titles
        # Else Ray replaces 127.0.0.1 by the machine's address and listens there, on Linux too.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_worker_niceness": "0",  # Ray's 15 starves engines beside anything else that runs
        "RAY_USAGE_STATS_ENABLED": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "RAY_SERVE_ENABLE_HA_PROXY": inherited.get("RAY_SERVE_ENABLE_HA_PROXY", "1"),
        # One event loop per replica: no hop between threads for every message of every request.
        "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
        "RAY_SERVE_HAPROXY_NBTHREAD": "1",
        # The gateway counts its own requests: else each is a datagram for a Ray actor to parse.
        "RAY_SERVE_HAPROXY_METRICS_ENABLED": "0",
        # A quarter of a second is soon enough to see a replica start; a tenth costs twice as much.
        "RAY_SERVE_CONTROL_LOOP_INTERVAL_S": "0.25",
        "RAY_SERVE_METRICS_EXPORT_INTERVAL_MS": "1000",
        "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1",
        REPLICA_KEY_FILE: str(run_dir.replica_key_path),
        haproxy.BINARY_PATH: haproxy.program(inherited, str(commands)),
        "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": str(folder / "haproxy.cfg"),
        "RAY_SERVE_HAPROXY_SOCKET_PATH": str(folder / "admin.sock"),
        "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": str(folder),
        "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": str(folder / "server-state"),
        "PATH": f"{commands}{os.pathsep}{inherited.get('PATH', '')}",
        **auth_environment(run_dir),
    }
    return {**inherited, **ours}


def command(run: Run, run_dir: RunDir) -> list[str]:
    """Returns the `ray start` command line: everything on 127.0.0.1."""
    return [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head"),
        "--node-ip-address=127.0.0.1",
        f"--port={run.gcs_port}",
        "--dashboard-host=127.0.0.1",
        f"--dashboard-port={run.dashboard_port}",
        f"--temp-dir={run_dir.ray}",
        "--disable-usage-stats",
        "--include-log-monitor=false",  # `turnout logs` reads the files themselves
    ]


def check_ports(ports: Mapping[int, str]) -> None:
    """Raises `PortTaken` for the first port that is held; `ports` maps to purposes."""
    for port, purpose in ports.items():
        if holder := holder_of(port):
            raise PortTaken(port, purpose, holder)


def free_port() -> int:
    """Returns a TCP port that is free on 127.0.0.1 now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def start(run: Run, run_dir: RunDir) -> None:
    """Starts the head's daemons and returns when they run; raises `RayDidNotStart`."""
    run_dir.haproxy.mkdir(parents=True, exist_ok=True)
    run_dir.token()
    run_dir.renew_replica_key()
    done = subprocess.run(
        command(run, run_dir),
        env=environment(run.id, run_dir, os.environ),
        start_new_session=True,  # a Ctrl-C while `up` waits is not for the daemons
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RayDidNotStart((done.stdout + done.stderr).strip()[-4000:])
