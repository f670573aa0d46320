from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from turnout.admin.client import AdminClient, AdminTarget, admin_target
from turnout.admin.errors import AdminUnreachable, BadValue, NoAdminKey
from turnout.cluster.run_dir import Run, RunDir

KEY, OTHER = "k" * 32, "o" * 32
RUN = Run("id", "c.yaml", "127.0.0.1", 8000, 6379, 8265, "now", ())


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    return RunDir(tmp_path)


@pytest.fixture
def running(run_dir: RunDir) -> RunDir:
    """The folder of a deployment that runs."""
    file = run_dir.path / "admin-key"
    file.write_text(KEY)
    file.chmod(0o600)
    run_dir.save(replace(RUN, admin_url="http://127.0.0.1:8001", admin_key_file=str(file)))
    return run_dir


def test_by_default_the_running_deployment_is_meant(running: RunDir) -> None:
    assert admin_target({}, running) == AdminTarget("http://127.0.0.1:8001", KEY)


def test_the_environment_names_another(running: RunDir) -> None:
    environ = {"TURNOUT_ADMIN_URL": "https://admin.example/", "TURNOUT_ADMIN_KEY": OTHER}
    assert admin_target(environ, running) == AdminTarget("https://admin.example", OTHER)


def test_the_running_deployments_key_goes_to_no_other_url(running: RunDir) -> None:
    with pytest.raises(NoAdminKey):
        admin_target({"TURNOUT_ADMIN_URL": "https://admin.example"}, running)


def test_where_nothing_runs_that_is_told(run_dir: RunDir) -> None:
    with pytest.raises(NoAdminKey, match="turnout up"):
        admin_target({}, run_dir)


def test_a_deployment_without_an_admin_api_is_told(run_dir: RunDir) -> None:
    run_dir.save(RUN)
    with pytest.raises(NoAdminKey):
        admin_target({}, run_dir)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "127.0.0.1:8001", "ftp://h"])
def test_only_http_is_spoken(run_dir: RunDir, url: str) -> None:
    environ = {"TURNOUT_ADMIN_URL": url, "TURNOUT_ADMIN_KEY": KEY}
    with pytest.raises(BadValue, match=r"TURNOUT_ADMIN_URL '.*': expected http://"):
        admin_target(environ, run_dir)


def test_the_key_is_not_part_of_the_targets_text() -> None:
    assert KEY not in repr(AdminTarget("http://h", KEY))


def test_an_api_that_does_not_answer_is_told_with_its_address() -> None:
    with pytest.raises(AdminUnreachable, match=r"^the admin API at http://127.0.0.1:9 does not"):
        AdminClient(AdminTarget("http://127.0.0.1:9", KEY)).call("GET", "/admin/keys")


class Slow(BaseHTTPRequestHandler):
    """Sends a piece, waits until it was read, then sends another, or breaks off."""

    was_read = threading.Event()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "8")
        self.end_headers()
        self.wfile.write(b"one,")
        assert self.was_read.wait(10)
        if not self.path.endswith("broken"):
            self.wfile.write(b"two,")

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def slow() -> Iterator[AdminClient]:
    Slow.was_read.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield AdminClient(AdminTarget(f"http://127.0.0.1:{server.server_port}", KEY))
        server.shutdown()


def test_a_long_answer_is_handed_on_while_it_comes(slow: AdminClient) -> None:
    pieces = slow.pieces("GET", "/whole")
    assert next(pieces) == b"one,"
    Slow.was_read.set()
    assert b"".join(pieces) == b"two,"


def test_an_answer_that_breaks_off_is_told(slow: AdminClient) -> None:
    pieces = slow.pieces("GET", "/broken")
    assert next(pieces) == b"one,"
    Slow.was_read.set()
    with pytest.raises(AdminUnreachable):
        list(pieces)
