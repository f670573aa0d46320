"""A plain vLLM API server beside the deployment: what an upstream is to the gateway."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil

START_WAIT_S = 240
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "TORCHDYNAMO_DISABLE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1",
}


class UpstreamServer:
    """One process of `vllm.entrypoints.openai.api_server`, with a key, on a port of its own."""

    def __init__(self, weights: Path, name: str, key: str, log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
                *("--model", str(weights), "--served-model-name", name),
                *("--host", "127.0.0.1", "--port", str(self.port), "--api-key", key),
                *("--dtype", "float32", "--enforce-eager", "--max-model-len", "512"),
                *("--max-num-seqs", "8", "--generation-config", "vllm"),
            ],
            env={**os.environ, **ENVIRONMENT},
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    @property
    def url(self) -> str:
        """The root of its API."""
        return f"http://127.0.0.1:{self.port}/v1"

    def wait(self) -> None:
        """Waits until it answers."""
        until = time.monotonic() + START_WAIT_S
        while time.monotonic() < until:
            assert self._process.poll() is None, Path(self._log.name).read_text()[-4000:]
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/health", timeout=2).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.5)
        raise AssertionError(Path(self._log.name).read_text()[-4000:])

    def kill(self) -> None:
        """Ends it and its engine at once, as when a machine is lost."""
        if self._process.poll() is None:
            family = psutil.Process(self._process.pid).children(recursive=True)
            self._process.kill()
            for process in family:
                if process.is_running():
                    process.kill()
            psutil.wait_procs(family, timeout=10)
        self._process.wait()
        self._log.close()
