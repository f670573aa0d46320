"""The gateway without Ray: a file of replicas, a process, an answer."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, cast

import httpx
import pytest
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import serving

from turnout.gateway.standalone import POLICIES, BadDeployment, main, read


def written(tmp_path: Path, address: str = "http://127.0.0.1:1", **changes: Any) -> Path:
    replica = {"id": "r1", "model": "small", "market": "reserved", "context_window": 2048}
    model = {"application": "small", "tier": "small", "pools": ["reserved"]}
    file = tmp_path / "replicas.json"
    content = {
        "settings": {"models": {"small": model}},
        "replicas": [{**replica, "address": address, **changes}],
    }
    file.write_text(json.dumps(content))
    return file


@pytest.mark.parametrize("policy", POLICIES)
async def test_it_answers_from_the_files_replicas(tmp_path: Path, policy: str) -> None:
    async with serving(FakeEngine("small")) as address:
        command = (
            *(sys.executable, "-m", "turnout.gateway.standalone"),
            *(str(written(tmp_path, address)), "--port", "0", "--policy", policy),
        )
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                url = json.loads(cast(IO[str], process.stdout).readline())["url"]
                body = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}
                async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
                    answer = await client.post(f"{url}/chat/completions", json=body)
                assert answer.status_code == 200
                assert answer.headers["x-turnout-model"] == "small"
            finally:
                process.send_signal(signal.SIGTERM)
        assert process.returncode in (0, -signal.SIGTERM)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"address": "ftp://host"}, r"replicas\.0\.address: "),
        ({"market": "moon"}, r"replicas\.0\.market: "),
        ({"nobody": 1}, r"replicas\.0\.nobody: "),
    ],
)
def test_a_file_that_cannot_be_used_is_told_by_its_field(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadDeployment, match=said):
        read(written(tmp_path, **changes))


def test_a_missing_file_is_a_sentence_and_exit_code_1(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="No such file"):
        main([str(tmp_path / "none.json")])
