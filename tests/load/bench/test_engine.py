"""An engine is started, waited for and ended with all that it started; stand-ins serve for it."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from turnout_load.bench import engine
from turnout_load.bench.engine import EngineFailed, command, served
from turnout_load.errors import BadOption

SERVER = """
import subprocess, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(child.pid).encode())
    def do_POST(self):
        self.send_response(int(sys.argv[2]))
        self.end_headers()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


def stand_in(monkeypatch: pytest.MonkeyPatch, script: str, *words: str) -> None:
    def instead(weights: Path, port: int, *flags: str) -> tuple[str, ...]:
        return (sys.executable, "-c", script, str(port), *words)

    monkeypatch.setattr(engine, "command", instead)


def test_missing_weights_are_told_before_anything_starts(tmp_path: Path) -> None:
    with (
        pytest.raises(BadOption, match=r"--weights '.*nothing': expected a model's folder"),
        served(tmp_path / "nothing", tmp_path / "log"),
    ):
        pass


def test_an_engine_takes_the_benchmarks_own_flags_after_the_common_ones(tmp_path: Path) -> None:
    (tmp_path / "config.json").touch()
    argv = command(tmp_path, 4321, "--max-num-seqs", "4")
    assert argv[1:3] == ("-m", "vllm.entrypoints.openai.api_server")
    assert argv[argv.index("--model") + 1] == str(tmp_path)
    assert argv[argv.index("--host") + 1] == "127.0.0.1"
    assert argv[argv.index("--port") + 1] == "4321"
    assert argv[-2:] == ("--max-num-seqs", "4")


def test_an_engine_ends_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, SERVER, "200")
    with served(tmp_path, tmp_path / "log") as address:
        with urlopen(f"{address}/health", timeout=10) as said:
            child = psutil.Process(int(said.read()))
        parent = child.parent()
        assert parent is not None
    gone, alive = psutil.wait_procs([child, parent], timeout=10)
    assert (len(gone), alive) == (2, [])


def test_an_engine_that_ends_tells_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, "import sys; sys.exit('no memory left')")
    with (
        pytest.raises(EngineFailed, match=r"(?s)ended before it answered.*no memory left"),
        served(tmp_path, tmp_path / "log"),
    ):
        pass


def test_an_engine_that_refuses_its_first_request_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, SERVER, "500")
    with (
        pytest.raises(EngineFailed, match=r"did not answer: HTTP Error 500"),
        served(tmp_path, tmp_path / "log"),
    ):
        pass


def test_a_failed_engine_crosses_processes() -> None:
    failed = EngineFailed("ended", "no memory")
    assert str(pickle.loads(pickle.dumps(failed))) == str(failed)
