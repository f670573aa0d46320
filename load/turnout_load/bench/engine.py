"""A plain vLLM server on this machine's CPU, for benchmarks that need no deployment."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import Request, urlopen

from turnout_load.errors import BadOption, LoadError

MODEL = "small"
"""The name that every engine serves its model under."""
READY_S = 300.0
"""What an engine may take to start."""
END_S = 30.0
"""What it may take to end, before it is killed."""
FLAGS = (
    # bfloat16 takes three times as long on a CPU that has no arithmetic of it
    *("--dtype", "float32", "--enforce-eager", "--no-async-scheduling"),
    *("--distributed-executor-backend", "uni"),
    *("--max-model-len", "2048", "--kv-cache-memory-bytes", str(512 * 2**20)),
    # each round sends the same prompts again: none may find them computed
    "--no-enable-prefix-caching",
)
"""As deployments/local.yaml runs its engines, but for the type of numbers and one process less."""
ENVIRONMENT = {
    # the model in the engine's own process: between two processes one waits busily on a core
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}


class EngineFailed(LoadError):
    """An engine did not start, or ended before it was told to."""

    def __init__(self, problem: str, last_words: str) -> None:
        super().__init__(problem, last_words)

    def __str__(self) -> str:
        problem, last_words = self.args
        return f"the engine {problem}; its last words:\n{last_words}"


@contextmanager
def served(
    weights: Path, log: Path, *flags: str, threads: int = 1, cpu: int | None = None
) -> Iterator[str]:
    """Yields the address of an engine that has answered once, such as `http://127.0.0.1:4321`.

    Its words go to `log`; with a `cpu` all of its processes are bound to that core. Raises
    `BadOption` where the weights are missing, `EngineFailed` where it does not start.
    """
    port = _free_port()
    with (
        log.open("w") as words,
        subprocess.Popen(
            command(weights, port, *flags),
            stdout=words,
            stderr=subprocess.STDOUT,
            env={**os.environ, **ENVIRONMENT, "OMP_NUM_THREADS": str(threads)},
            start_new_session=True,
        ) as process,
    ):
        try:
            if cpu is not None:
                os.sched_setaffinity(process.pid, {cpu})
            address = f"http://127.0.0.1:{port}"
            _wait(process, address, log)
            _warm_up(address, log)
            yield address
        finally:
            _end(process)


def check_weights(weights: Path) -> None:
    """Raises `BadOption` where the weights are missing."""
    if not (weights / "config.json").is_file():
        expected = "a model's folder with its config.json; `make up` leaves one in ~/.cache/turnout"
        raise BadOption("--weights", str(weights), expected)


def command(weights: Path, port: int, *flags: str) -> tuple[str, ...]:
    """Returns how an engine is started; raises `BadOption` where the weights are missing."""
    check_weights(weights)
    server = (sys.executable, "-m", "vllm.entrypoints.openai.api_server")
    where = ("--model", str(weights), "--served-model-name", MODEL, "--host", "127.0.0.1")
    return (*server, *where, "--port", str(port), *FLAGS, *flags)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    given_up_at = time.monotonic() + READY_S
    while not _answers(address):
        if process.poll() is not None:
            raise EngineFailed("ended before it answered", _last_words(log))
        if time.monotonic() > given_up_at:
            raise EngineFailed(f"did not answer within {READY_S:g} s", _last_words(log))
        time.sleep(0.5)


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:]


def _answers(address: str) -> bool:
    try:
        urlopen(f"{address}/health", timeout=10).close()
    except OSError:
        return False
    return True


def _warm_up(address: str, log: Path) -> None:
    """Asks for a few tokens, so that no measured request waits for first-use work."""
    asked = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
    headers = {"content-type": "application/json"}
    request = Request(f"{address}/v1/chat/completions", json.dumps(asked).encode(), headers)
    try:
        urlopen(request, timeout=READY_S).close()
    except OSError as problem:
        raise EngineFailed(f"did not answer: {problem}", _last_words(log)) from problem


def metrics_page(address: str) -> str:
    """Returns an engine's metrics; raises `EngineFailed`."""
    try:
        with urlopen(f"{address}/metrics", timeout=60) as page:
            return str(page.read().decode())
    except OSError as problem:
        raise EngineFailed(f"has no metrics: {problem}", "see its log") from problem


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the server and what it started."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
