"""Two echo replicas with few places, and a gateway over them, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import psutil

from turnout_load.bench.dispatch_system import GatewayFailed
from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings

MODEL = "echo"
REPLICAS, PLACES, TOKENS = 2, 8, 40
MOCK = MockSettings(ttft_ms=100, itl_ms=25, tokens=TOKENS, places=PLACES, exact_up_to=0)
ANSWER_S = (MOCK.ttft_ms + (TOKENS - 1) * MOCK.itl_ms) / 1000
PER_S = REPLICAS * PLACES / ANSWER_S
"""Answers a second with all places taken."""
LOOK_S = 0.25


def deployment(addresses: list[str], *, is_bounded: bool, most_waiting: int) -> dict[str, Any]:
    """Returns the gateway's file; only a bounded one says how many places replicas have."""
    model = {
        "application": MODEL,
        "tier": "only",
        "pools": ["reserved"],
        "max_queued_requests": most_waiting,
    }
    place = {"model": MODEL, "market": "reserved", "context_window": 32_768}
    if is_bounded:
        place["max_running"] = PLACES
    return {
        "settings": {"models": {MODEL: model}},
        "replicas": [{"id": at, "address": at, **place} for at in addresses],
    }


@dataclass
class Memory:
    """What a process had in use, looked at every quarter of a second."""

    pid: int
    rss_mib: list[float] = field(default_factory=list)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Looks until the block ends."""
        process, ends = psutil.Process(self.pid), threading.Event()

        def look() -> None:
            while not ends.wait(LOOK_S):
                self.rss_mib.append(process.memory_info().rss / 2**20)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            ends.set()
            thread.join()


@contextmanager
def system(folder: Path, *, is_bounded: bool, most_waiting: int) -> Iterator[tuple[str, Memory]]:
    """Yields a new gateway's OpenAI URL and its memory; raises `GatewayFailed`."""
    with ExitStack() as stack:
        addresses = [stack.enter_context(started(MOCK)) for _ in range(REPLICAS)]
        file = folder / "replicas.json"
        told = deployment(addresses, is_bounded=is_bounded, most_waiting=most_waiting)
        file.write_text(json.dumps(told))
        command = [sys.executable, "-m", "turnout.gateway.standalone", str(file), "--port", "0"]
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(process.terminate)
        line = cast(IO[str], process.stdout).readline()
        if not line:
            raise GatewayFailed("finish-time")
        memory = Memory(process.pid)
        stack.enter_context(memory.watched())
        yield str(json.loads(line)["url"]), memory
