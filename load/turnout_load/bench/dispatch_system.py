"""Replicas of unequal speed and a gateway over them, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from msgspec.structs import replace

from turnout_load.errors import LoadError
from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings

MODEL = "echo"
FAST = MockSettings(
    ttft_ms=10,
    itl_ms=5,
    prefill_ms_per_token=0.2,
    places=8,
    cache_tokens=6_000,
    exact_up_to=0,  # a millisecond more or less: three of them share the machine
)
SLOWER = {"fast": 1, "middle": 2, "slow": 4}
"""How many times slower each replica is than the fast one."""


class GatewayFailed(LoadError):
    """The gateway did not start."""

    def __init__(self, policy: str) -> None:
        super().__init__(policy)

    def __str__(self) -> str:
        return f"the gateway with policy {self.args[0]} did not start; its words are above"


def replica_settings(slower: float) -> MockSettings:
    """Returns an echo replica so many times slower than `FAST`, with the same cache."""
    return replace(
        FAST,
        ttft_ms=FAST.ttft_ms * slower,
        itl_ms=FAST.itl_ms * slower,
        prefill_ms_per_token=FAST.prefill_ms_per_token * slower,
    )


def deployment(addresses: dict[str, str]) -> dict[str, Any]:
    """Returns the gateway's file: one model, one market, a replica at each address."""
    model = {"application": MODEL, "tier": "only", "pools": ["reserved"]}
    place = {"model": MODEL, "market": "reserved", "context_window": 32_768}
    return {
        "settings": {"models": {MODEL: model}},
        "replicas": [{"id": name, "address": at, **place} for name, at in addresses.items()],
    }


@contextmanager
def system(policy: str, folder: Path) -> Iterator[str]:
    """Yields the OpenAI URL of a new gateway over new replicas; raises `GatewayFailed`."""
    with ExitStack() as stack:
        addresses = {
            name: stack.enter_context(started(replica_settings(slower)))
            for name, slower in SLOWER.items()
        }
        file = folder / "replicas.json"
        file.write_text(json.dumps(deployment(addresses)))
        yield stack.enter_context(_gateway(file, policy))


@contextmanager
def _gateway(file: Path, policy: str) -> Iterator[str]:
    module = ("-m", "turnout.gateway.standalone")
    command = [sys.executable, *module, str(file), "--port", "0", "--policy", policy]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = cast(IO[str], process.stdout).readline()
            if not line:
                raise GatewayFailed(policy)
            yield str(json.loads(line)["url"])
        finally:
            process.terminate()
