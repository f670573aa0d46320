"""A run whose workers are actors of a real Ray cluster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("turnout-load")


@pytest.mark.slow
def test_actors_share_a_run_and_bring_back_one_result(mock: str, tmp_path: Path) -> None:
    words = ("run", "--url", mock, "--model", "m", "--rate", "20", "--requests", "30")
    done = subprocess.run(
        [COMMAND, *words, "--ray", "local", "--processes", "2", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["requests"]["ok"], result["client"]["processes"]) == (30, 2)


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_told(mock: str, tmp_path: Path) -> None:
    words = ("run", "--url", mock, "--model", "m", "--requests", "1", "--out", str(tmp_path))
    done = subprocess.run(
        [COMMAND, *words, "--ray", "127.0.0.1:9"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 2
    assert "--ray '127.0.0.1:9': expected a running cluster's address" in done.stderr
