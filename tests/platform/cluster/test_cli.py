"""The `turnout` command answers mistakes with a sentence and exit code 1."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

TURNOUT = str(Path(sys.executable).with_name("turnout"))


def turnout(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TURNOUT_RUN_DIR": f"/tmp/t{os.getpid()}"}
    return subprocess.run(
        [TURNOUT, *words],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", ["status", "env", "logs"])
def test_nothing_running_is_told_in_a_sentence(tmp_path: Path, command: str) -> None:
    done = turnout(tmp_path, command)
    assert done.returncode == 1
    assert done.stderr.strip() == "error: nothing is running: start it with `turnout up`"


def test_down_twice_is_no_mistake(tmp_path: Path) -> None:
    done = turnout(tmp_path, "down")
    assert (done.returncode, done.stdout.strip()) == (0, "nothing is running")


def test_up_refuses_a_broken_file_before_it_starts_anything(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("applications: [{name: gateway, import_path: 'a:b', nonsense: 1}]\n")
    done = turnout(tmp_path, "up", str(broken))
    assert done.returncode == 1
    assert "nonsense" in done.stderr
    assert "Traceback" not in done.stderr
    assert not Path(f"/tmp/t{os.getpid()}").exists()


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    done = turnout(tmp_path, "up", "nowhere.yaml")
    assert done.returncode == 1
    assert "nowhere.yaml" in done.stderr
    assert "Traceback" not in done.stderr


def test_up_refuses_a_certificate_that_nothing_here_would_use(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[3] / "deployments" / "local.yaml"
    file = yaml.safe_load(shipped.read_text())
    file["http_options"] = {"ssl_certfile": "/c.pem", "ssl_keyfile": "/k.pem"}
    wanted = tmp_path / "tls.yaml"
    wanted.write_text(yaml.safe_dump(file))
    done = turnout(tmp_path, "up", str(wanted))
    assert done.returncode == 1
    assert "serves plain HTTP on this machine" in done.stderr
