"""A hub that speaks huggingface_hub's protocol on a local port; no real hub is asked."""

import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

from turnout.models.errors import DiskFull, HubModelMissing, HubUnreachable, NoSourceWorked
from turnout.models.fetch import Progress, cached_model, ensure_model
from turnout.models.hub import fetch_hub
from turnout.models.source import HubSource

COMMIT = "a" * 40
SOURCE = HubSource("hf://org/name", "org/name", None)
FILES = {
    "config.json": b'{"architectures": ["LlamaForCausalLM"]}',
    "tokenizer.json": b"{}",
    "model.safetensors": b"w" * 1000,
    "pytorch_model.bin": b"the same weights again",
    "onnx/model.safetensors": b"and again",
}


class Hub(BaseHTTPRequestHandler):
    """Knows one model, org/name."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        found = re.fullmatch(r"/org/name/resolve/[^/]+/(.+)", path)
        if found and found[1] in FILES:
            content = FILES[found[1]]
            etag = hashlib.sha1(content).hexdigest()
            self.answer(200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT})
        elif path.startswith("/api/models/org/name"):
            self.answer(200, json.dumps(self.listing(path)).encode(), {})
        else:
            self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def listing(self, path: str) -> object:
        if "/tree/" in path:
            return [
                {"type": "file", "path": name, "size": len(content), "oid": name}
                for name, content in FILES.items()
            ]
        siblings = [{"rfilename": name, "size": len(content)} for name, content in FILES.items()]
        return {"id": "org/name", "sha": COMMIT, "siblings": siblings}

    def answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _empty_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    point_to(server.server_port, monkeypatch)
    yield server
    server.shutdown()
    server.server_close()


def point_to(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What HF_ENDPOINT does; huggingface_hub reads the variable when it is imported."""
    address = f"http://127.0.0.1:{port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def test_a_model_is_downloaded_once_without_copies_in_other_formats(
    hub: ThreadingHTTPServer, tmp_path: Path
) -> None:
    reports: list[Progress] = []
    folder = Path(ensure_model(["hf://org/name"], cache=tmp_path, progress=reports.append))
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {"config.json", "tokenizer.json", "model.safetensors"}
    assert reports[-1] == Progress("ready", "hf://org/name", 1041, 1041)

    hub.shutdown()
    hub.server_close()
    assert cached_model(["hf://org/name"], cache=tmp_path) == folder
    assert ensure_model(["hf://org/name"], cache=tmp_path) == str(folder)


def test_a_snapshot_that_lacks_its_weights_is_not_taken_for_a_model(
    hub: ThreadingHTTPServer, tmp_path: Path
) -> None:
    folder = Path(ensure_model(["hf://org/name"], cache=tmp_path))
    (folder / "model.safetensors").unlink()
    assert cached_model(["hf://org/name"], cache=tmp_path) is None


@pytest.mark.usefixtures("hub")
def test_a_model_that_the_hub_does_not_know_is_named() -> None:
    with pytest.raises(HubModelMissing, match="no model org/other"):
        fetch_hub(HubSource("hf://org/other", "org/other", None), lambda _: None)


@pytest.mark.usefixtures("hub")
def test_a_model_larger_than_the_disk_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1040}))
    with pytest.raises(DiskFull):
        fetch_hub(SOURCE, lambda _: None)


def test_a_closed_port_is_noticed_and_the_next_source_is_used(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        point_to(unused.getsockname()[1], monkeypatch)
        with pytest.raises(HubUnreachable, match=r"refused.*HF_ENDPOINT"):
            fetch_hub(SOURCE, lambda _: None)
        assert ensure_model(["hf://org/name", str(model_folder)], cache=tmp_path) == str(
            model_folder
        )


def test_a_hub_that_accepts_and_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        point_to(silent.getsockname()[1], monkeypatch)
        with pytest.raises(NoSourceWorked, match=r"cannot be reached \(.*timed? ?out"):
            ensure_model(["hf://org/name"], cache=tmp_path)


def test_a_hub_whose_name_never_resolves_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.models.hub._ANSWER_WITHIN_S", 0.2)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: time.sleep(5))
    with pytest.raises(NoSourceWorked, match=r"no answer within 0\.2 s"):
        ensure_model(["hf://org/name"], cache=tmp_path)


@pytest.mark.usefixtures("hub")
def test_offline_mode_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(NoSourceWorked, match="HF_HUB_OFFLINE is set"):
        ensure_model(["hf://org/name"], cache=tmp_path)
