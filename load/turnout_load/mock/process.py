"""The mock in a process of its own, so that it and its client do not wait for one another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast
from urllib.request import Request, urlopen

import msgspec

from turnout_load.mock.settings import MockSettings


@contextmanager
def started(settings: MockSettings, cpu: int | None = None) -> Iterator[str]:
    """Yields its address, such as `http://127.0.0.1:4321`; bound to one CPU where one is given."""
    command = [sys.executable, "-m", "turnout_load.mock", msgspec.json.encode(settings).decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if cpu is not None:
                os.sched_setaffinity(process.pid, {cpu})
            line = cast(IO[str], process.stdout).readline()
            yield json.loads(line)["url"].removesuffix("/v1")
        finally:
            process.terminate()


def truth(address: str) -> dict[str, Any]:
    """Returns what the mock at this address did since the last reset."""
    with urlopen(f"{address}/truth", timeout=10) as told:
        return dict(json.load(told))


def reset_truth(address: str) -> None:
    """Makes the mock at this address forget what it did."""
    urlopen(Request(f"{address}/truth/reset", method="POST"), timeout=10).close()
