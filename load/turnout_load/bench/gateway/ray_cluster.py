"""A Ray head with Serve behind HAProxy, all on one core: what systems on Ray are started in.

Started as `turnout up` starts it, whose check of the file would refuse a pool without engines.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from turnout_load.bench.gateway.processes import (
    bound,
    ended_after,
    environment,
    failed,
    last_words,
)
from turnout_load.bench.gateway.readiness import free_port
from turnout_load.bench.gateway.system import Stage, SystemFailed

ANSWERS_S = 60.0
RUNS_S = 240.0
POLL_S = 0.5


@dataclass(frozen=True)
class Head:
    """Where a head's parts are."""

    folder: Path
    """Short: HAProxy's sockets lie deep below it, and their paths may have 107 bytes."""
    token: str
    dashboard_port: int
    http_port: int

    @property
    def url(self) -> str:
        """Where Serve's proxy answers."""
        return f"http://127.0.0.1:{self.http_port}"


Application = Mapping[str, Any]


@contextmanager
def serving(
    system: str, stage: Stage, applications: Sequence[Application], more: Mapping[str, str]
) -> Iterator[str]:
    """Yields the proxy's URL once the applications run; raises `SystemFailed`."""
    folder = Path(tempfile.mkdtemp(prefix="tb"))
    head = Head(folder, secrets.token_hex(32), free_port(), free_port())
    try:
        with ended_after(stage):
            start(system, stage, head, more)
            deploy(system, stage, head, applications)
            yield head.url
    finally:
        keep_logs(head, stage)
        shutil.rmtree(folder, ignore_errors=True)


def start(system: str, stage: Stage, head: Head, more: Mapping[str, str]) -> None:
    """Starts the head's daemons and returns when they run; raises `SystemFailed`."""
    (head.folder / "h").mkdir()
    token = head.folder / "token"
    token.write_text(head.token)
    token.chmod(0o600)
    argv = (
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head"),
        *("--node-ip-address=127.0.0.1", f"--port={free_port()}", "--dashboard-host=127.0.0.1"),
        *(f"--dashboard-port={head.dashboard_port}", f"--temp-dir={head.folder / 'ray'}"),
        *("--disable-usage-stats", "--include-log-monitor=false"),
    )
    with stage.log.open("w") as log:
        done = subprocess.run(
            bound(stage, argv),
            env=environment(stage, {**settings(head), **more}),
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )
    if done.returncode:
        raise failed(system, "`ray start` failed", stage)


def settings(head: Head) -> dict[str, str]:
    """Returns what Ray's processes find in their environment."""
    haproxy = head.folder / "h"
    return {
        # else Ray replaces 127.0.0.1 by the machine's address
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_worker_niceness": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(head.folder / "token"),
        "RAY_SERVE_ENABLE_HA_PROXY": "1",
        "RAY_SERVE_HAPROXY_NBTHREAD": "1",
        "RAY_SERVE_HAPROXY_METRICS_ENABLED": "0",
        "RAY_SERVE_CONTROL_LOOP_INTERVAL_S": "0.25",
        "RAY_SERVE_METRICS_EXPORT_INTERVAL_MS": "1000",
        "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": str(haproxy / "haproxy.cfg"),
        "RAY_SERVE_HAPROXY_SOCKET_PATH": str(haproxy / "admin.sock"),
        "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": str(haproxy),
        "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": str(haproxy / "server-state"),
        "RAY_SERVE_HAPROXY_STATS_PORT": str(free_port()),
        "RAY_SERVE_HAPROXY_METRICS_PORT": str(free_port()),
        "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1",
    }


def deploy(system: str, stage: Stage, head: Head, applications: Sequence[Application]) -> None:
    """Deploys the applications and waits until all of them run; raises `SystemFailed`."""
    options = {"host": "127.0.0.1", "port": head.http_port}
    config = {"http_options": options, "applications": list(applications)}
    deadline = time.monotonic() + ANSWERS_S
    while True:
        try:
            call(head, "PUT", config)
            break
        except OSError as error:  # the dashboard opens its port a little after the start
            if time.monotonic() > deadline:
                raise failed(system, f"Serve takes no applications: {error}", stage) from error
        time.sleep(POLL_S)
    await_running(system, stage, head)


def await_running(system: str, stage: Stage, head: Head) -> None:
    """Returns when every application runs; raises `SystemFailed`."""
    deadline = time.monotonic() + RUNS_S
    while True:
        found = call(head, "GET")["applications"]
        if found and all(each["status"] == "RUNNING" for each in found.values()):
            return
        wrong = [each for each in found.values() if each["status"] == "DEPLOY_FAILED"]
        if wrong or time.monotonic() > deadline:
            told = "\n".join(_told(each) for each in wrong or found.values())
            raise SystemFailed(system, "its applications do not run", f"{told}{last_words(stage)}")
        time.sleep(POLL_S)


def _told(application: Mapping[str, Any]) -> str:
    deployments = application.get("deployments", {}).values()
    return "\n".join([application["message"], *(each["message"] for each in deployments)])


def call(head: Head, method: str, body: Any = None) -> dict[str, Any]:
    """Calls Serve's REST API; raises `OSError`."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {head.token}", "content-type": "application/json"}
    url = f"http://127.0.0.1:{head.dashboard_port}/api/serve/applications/"
    with urlopen(Request(url, data, headers, method=method), timeout=60) as answer:
        text = answer.read()
    return dict(json.loads(text)) if text.strip() else {}


def keep_logs(head: Head, stage: Stage) -> None:
    """Copies the logs of Serve's replicas beside the system's own."""
    logs = head.folder / "ray" / "session_latest" / "logs" / "serve"
    if logs.exists():
        shutil.copytree(logs, stage.folder / "serve", dirs_exist_ok=True)
