"""`turnout up`: from a config file to a gateway that answers, in steps that tell their time."""

import datetime
import os
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import URLError

import yaml

from turnout.admin.key import ADMIN_KEY_FILE, KEY_FILE
from turnout.cluster import ray_head
from turnout.cluster.errors import (
    AddressChanged,
    DeployFailed,
    NotReadyInTime,
    NotRunning,
    ServeRefused,
    TlsNotServed,
)
from turnout.cluster.local_http import open_local
from turnout.cluster.processes import end_all, processes_of
from turnout.cluster.progress import Progress, Step
from turnout.cluster.run_dir import Run, RunDir
from turnout.cluster.serve_api import ApplicationStatus, ServeApi
from turnout.config.deployment_file import DeploymentFile
from turnout.config.load import load
from turnout.models.fetch import Progress as FetchProgress
from turnout.models.fetch import ensure_model
from turnout.store.engine import state_dir

_POLL_S = 0.5


def up(config: Path, run_dir: RunDir, progress: Progress, timeout_s: float) -> Run:
    """Brings the file's deployment up, or changes the running one to it; returns when all is ready.

    Raises `ConfigInvalid`, models' errors and `ClusterError`.
    """
    file = load(config)
    if file.http_options.ssl_certfile or file.http_options.ssl_keyfile:
        raise TlsNotServed
    run_dir.create()
    run, is_new = _running_or_new(file, config, run_dir)
    if is_new:
        ray_head.check_ports(_purposes(run))
    # Recorded before anything starts: `down` then finds it whatever happens next.
    run_dir.save(run)
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(ray_head.start, run, run_dir) if is_new else None
        _fetch(file, progress)
        if started is not None:
            with progress.step("ray"):
                started.result()
    api = ServeApi(run.dashboard, run_dir.token())
    with progress.step("engines") as step:
        _retry(lambda: api.deploy(_as_deployed(config, file)), deadline_s=30)
        _await_applications(api, [app.name for app in file.applications], step, timeout_s)
        _await_gateway(run, step, timeout_s)
    return run


def down(run_dir: RunDir, progress: Progress) -> int:
    """Stops everything of the recorded cluster; returns the number of processes ended.

    Raises `NotRunning`.
    """
    run = run_dir.run()
    # A broken cluster is what `down` is for: its processes are ended below in any case.
    with progress.step("drain"), suppress(ServeRefused):
        ServeApi(run.dashboard, run_dir.token()).delete(timeout_s=20)
    with progress.step("stop"):
        ended = end_all(run.id)
        run_dir.forget()
    return ended


def _running_or_new(file: DeploymentFile, config: Path, run_dir: RunDir) -> tuple[Run, bool]:
    new = _new_run(file, config)
    try:
        run = run_dir.run()
    except NotRunning:
        return new, True
    if not processes_of(run.id):
        return new, True
    if (run.http_host, run.http_port) != (new.http_host, new.http_port):
        raise AddressChanged(run.url, new.url)
    return replace(run, config=new.config, admin_url=new.admin_url), False


def _new_run(file: DeploymentFile, config: Path) -> Run:
    dashboard_port = int(os.environ.get("TURNOUT_DASHBOARD_PORT", "8265"))
    admin = file.gateway.admin
    haproxy = os.environ.get("RAY_SERVE_ENABLE_HA_PROXY", "1") == "1"
    pages = (ray_head.STATS_PORT, ray_head.METRICS_PORT) if haproxy else ()
    return Run(
        id=secrets.token_hex(8),
        config=str(config.resolve()),
        http_host=_http_host(file),
        http_port=file.http_options.port,
        gcs_port=ray_head.free_port(),
        dashboard_port=dashboard_port,
        started_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        ports=(file.http_options.port, dashboard_port, admin.port, *pages),
        admin_url=f"http://{_reachable(admin.host)}:{admin.port}",
        admin_key_file=os.environ.get(KEY_FILE) or str(state_dir() / ADMIN_KEY_FILE),
    )


def _reachable(host: str) -> str:
    return "127.0.0.1" if host == "0.0.0.0" else host


def _purposes(run: Run) -> dict[int, str]:
    names = ("gateway", "Ray dashboard", "admin API", "HAProxy statistics", "HAProxy metrics")
    return dict(zip(run.ports, names, strict=False))


def _as_deployed(config: Path, file: DeploymentFile) -> dict[str, Any]:
    """Returns the file as Serve's API takes it; Serve itself would listen on every interface."""
    raw: dict[str, Any] = yaml.safe_load(config.read_text())
    return {**raw, "http_options": {**raw.get("http_options", {}), "host": _http_host(file)}}


def _http_host(file: DeploymentFile) -> str:
    is_set = "host" in file.http_options.model_fields_set
    return file.http_options.host if is_set else "127.0.0.1"


def _fetch(file: DeploymentFile, progress: Progress) -> None:
    """Brings every model into this machine's cache, so that replicas find it there."""
    for model in file.models:
        with progress.step(f"model {model.args.model}") as step:
            ensure_model(model.args.sources, progress=_teller(step))


def _teller(step: Step) -> Callable[[FetchProgress], None]:
    def tell(at: FetchProgress) -> None:
        share = f" {at.done_bytes / at.total_bytes:.0%}" if at.total_bytes else ""
        step.tell(f"{at.stage}{share}")

    return tell


def _await_applications(
    api: ServeApi, names: list[str], step: Step, timeout_s: float
) -> list[ApplicationStatus]:
    while True:
        try:
            states = [state for state in api.applications() if state.name in names]
        except ServeRefused:
            states = []
        if failures := [(state.name, failure_text(state)) for state in states if state.has_failed]:
            raise DeployFailed(failures)
        if len(states) == len(names) and all(state.is_running for state in states):
            return states
        waiting = [name for name in names if name not in {s.name for s in states if s.is_running}]
        step.tell(waiting_text(states, waiting))
        if step.elapsed_s > timeout_s:
            raise NotReadyInTime(timeout_s, waiting)
        time.sleep(_POLL_S)


def failure_text(state: ApplicationStatus) -> str:
    """Returns why an application failed: Serve's word and the last line of each pool's error."""
    told = [pool.message.strip().splitlines()[-1] for pool in state.pools if pool.message.strip()]
    return "; ".join([state.message.strip(), *told])


def waiting_text(states: list[ApplicationStatus], waiting: list[str]) -> str:
    """Returns what is waited for, with what Serve says about it, such as a lack of resources."""
    said = [
        pool.message.strip().splitlines()[0]
        for state in states
        if not state.is_running
        for pool in state.pools
        if "to be scheduled" in pool.message  # the other slow starts need no word
    ]
    return "; ".join([f"waiting for {', '.join(waiting)}", *said])


def _await_gateway(run: Run, step: Step, timeout_s: float) -> None:
    """Waits until the gateway itself says that every model can answer."""
    while True:
        try:
            with open_local(f"{run.url}/readyz", timeout_s=5):
                return
        except (URLError, OSError):
            step.tell("waiting for the gateway to see every pool")
        if step.elapsed_s > timeout_s:
            raise NotReadyInTime(timeout_s, ["gateway"])
        time.sleep(_POLL_S / 2)


def _retry(call: Callable[[], Any], deadline_s: float) -> None:
    """Calls Serve's API until it answers: the dashboard opens its port a little after Ray."""
    until = time.monotonic() + deadline_s
    while True:
        try:
            call()
            return
        except ServeRefused:
            if time.monotonic() > until:
                raise
            time.sleep(_POLL_S)
