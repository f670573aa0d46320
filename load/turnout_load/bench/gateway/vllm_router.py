"""vLLM's own router, in Rust: https://github.com/vllm-project/router."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from turnout_load.bench.gateway.direct import MODEL
from turnout_load.bench.gateway.processes import launched
from turnout_load.bench.gateway.readiness import await_answer, free_port
from turnout_load.bench.gateway.system import Endpoint, Stage


class VllmRouter:
    """One worker behind it, taken in turn."""

    name = "vllm-router"
    locks: str | None = "vllm-router.txt"

    @contextmanager
    def started(self, stage: Stage) -> Iterator[Endpoint]:
        """Starts the router's own command."""
        port = free_port()
        argv = (
            str(stage.python.parent / "vllm-router"),
            *("--host", "127.0.0.1", "--port", str(port)),
            *("--worker-urls", stage.mock, "--policy", "round_robin"),
            *("--prometheus-port", str(free_port()), "--log-level", "warning"),
        )
        endpoint = Endpoint(f"http://127.0.0.1:{port}/v1", MODEL)
        with launched(stage, argv, {}) as process:
            await_answer(self.name, endpoint, stage, lambda: process.poll() is not None)
            yield endpoint
