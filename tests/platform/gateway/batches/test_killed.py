"""A gateway process that is killed amid a batch, and started again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from openai import AsyncOpenAI
from tests.platform.gateway.batches.office import CHAT, jsonl, line
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import eventually, serving

LINES = 60


@contextmanager
def gateway(deployment: Path, state: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = (
        *(sys.executable, "-m", "turnout.gateway.standalone", str(deployment)),
        *("--port", "0", "--state", str(state)),
    )
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, json.loads(cast(IO[str], process.stdout).readline())["url"]
        finally:
            process.send_signal(signal.SIGTERM)


def deployed(tmp_path: Path, address: str) -> Path:
    model = {"application": "small", "tier": "small", "pools": ["reserved"]}
    replica = {"id": "r1", "model": "small", "market": "reserved", "context_window": 2048}
    content = {
        "settings": {"models": {"small": model}, "batches": {"lease_s": 1}},
        "replicas": [{**replica, "address": address}],
    }
    file = tmp_path / "replicas.json"
    file.write_text(json.dumps(content))
    return file


async def test_every_line_is_in_the_output_once(tmp_path: Path) -> None:
    engine = FakeEngine("small")
    engine.delay_s = 0.1
    async with serving(engine) as address:
        file, state = deployed(tmp_path, address), tmp_path / "state"
        with gateway(file, state) as (process, url):
            async with AsyncOpenAI(api_key="x", base_url=url, max_retries=0) as client:
                data = ("in.jsonl", jsonl([line(f"q{n}") for n in range(LINES)]))
                sent = await client.files.create(file=data, purpose="batch")
                batch = await client.batches.create(
                    input_file_id=sent.id, endpoint=CHAT, completion_window="24h"
                )
                await eventually(lambda: len(engine.generations) >= 20)
                process.kill()
        asked, engine.delay_s = len(engine.generations), 0.0
        assert asked < LINES
        with gateway(file, state) as (_, url):
            async with AsyncOpenAI(api_key="x", base_url=url, max_retries=0) as client:
                while (batch := await client.batches.retrieve(batch.id)).status != "completed":
                    assert batch.status in ("in_progress", "finalizing")
                assert batch.output_file_id is not None
                results = (await client.files.content(batch.output_file_id)).text.splitlines()
    found = sorted(json.loads(each)["custom_id"] for each in results)
    assert found == sorted(f"q{n}" for n in range(LINES))
    assert len(engine.generations) <= LINES + 4  # those that ran when it was killed
