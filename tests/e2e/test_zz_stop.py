"""Last of all: `turnout down` leaves no process and no port, even of a cluster whose head died."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnout.cluster.processes import holder_of, processes_of

if TYPE_CHECKING:
    from tests.e2e.conftest import System


def test_down_cleans_up_after_a_head_that_was_killed(system: System) -> None:
    run = system.run
    assert system.http.get(f"{system.url}/healthz", timeout=10).status_code == 200
    for process in processes_of(run.id):
        if process.name() in ("gcs_server", "raylet") or "ServeController" in process.name():
            process.kill()
    told = system.command("turnout", "down", timeout_s=60)
    assert "stopped" in told
    assert processes_of(run.id) == []
    assert {port: holder_of(port) for port in run.ports} == dict.fromkeys(run.ports)
    assert "nothing is running" in system.command("turnout", "down", timeout_s=60)
