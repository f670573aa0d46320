from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from turnout_load.bench.gateway.processes import launched
from turnout_load.bench.gateway.readiness import await_answer, free_port
from turnout_load.bench.gateway.system import Endpoint, Stage
from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings


class TinyProxy:
    """A system under test that only passes bytes on."""

    name = "tiny"
    locks: str | None = None

    @contextmanager
    def started(self, stage: Stage) -> Iterator[Endpoint]:
        port, upstream = free_port(), urlsplit(stage.mock).port
        code = Path(__file__).with_name("tiny_proxy.py")
        endpoint = Endpoint(f"http://127.0.0.1:{port}/v1", "small")
        argv = (str(stage.python), str(code), str(port), str(upstream))
        with launched(stage, argv, {}) as process:
            await_answer(self.name, endpoint, stage, lambda: process.poll() is not None)
            yield endpoint


@pytest.fixture
def proxy() -> TinyProxy:
    return TinyProxy()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with started(MockSettings(ttft_ms=2, itl_ms=0.2, whole_ms=2)) as mock:
        cpu = min(os.sched_getaffinity(0))
        yield Stage(mock, tmp_path, Path(sys.executable), cpu, f"test-{tmp_path.name}")
