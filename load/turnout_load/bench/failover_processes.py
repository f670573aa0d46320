"""The processes that are killed: echo replicas of our own, and engines of a deployment."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast
from urllib.error import URLError
from urllib.request import urlopen

import psutil

POLL_S = 0.5
WHOLE_WITHIN_S = 300.0


class Echoes:
    """Echo replicas, each at a port that it has again after it was killed."""

    def __init__(self, count: int) -> None:
        self._ports = [_free_port() for _ in range(count)]
        self._processes = [self._start(port) for port in self._ports]

    @classmethod
    @contextmanager
    def started(cls, count: int) -> Iterator[Echoes]:
        """Yields running ones; ends them."""
        echoes = cls(count)
        try:
            for port in echoes._ports:
                _until_open(port)
            yield echoes
        finally:
            for process in echoes._processes:
                process.kill()
                process.wait()

    @property
    def addresses(self) -> dict[str, str]:
        """Where they answer, by name."""
        return {f"echo-{n}": f"http://127.0.0.1:{port}" for n, port in enumerate(self._ports)}

    def kill(self, number: int) -> None:
        """Kills one and starts it again."""
        self._processes[number].kill()
        self._processes[number].wait()
        self._processes[number] = self._start(self._ports[number])

    @staticmethod
    def _start(port: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "turnout_load.bench.failover_echo", str(port)]
        )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def _until_open(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            continue


@contextmanager
def gateway(file: Path) -> Iterator[str]:
    """Yields the OpenAI URL of a plain gateway over the replicas that a file lists."""
    command = [sys.executable, "-m", "turnout.gateway.standalone", str(file), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield str(json.loads(cast(IO[str], process.stdout).readline())["url"])
        finally:
            process.terminate()


class Pool:
    """A deployment's replicas of one model, as `turnout status --json` tells them."""

    def __init__(self, turnout: str, model: str) -> None:
        self._turnout, self._model = turnout, model
        self.url = str(self._status()["url"]).removesuffix("/v1") + "/v1"

    def _status(self) -> dict[str, object]:
        told = subprocess.run([self._turnout, "status", "--json"], capture_output=True, check=True)
        return dict(json.loads(told.stdout))

    def addresses(self) -> list[str]:
        """Returns where the model's replicas answer now."""
        engines = cast(dict[str, list[str]], self._status()["engines"])
        return engines.get(self._model, [])

    async def is_whole(self, replicas: int) -> None:
        """Waits until so many replicas answer; raises TimeoutError after five minutes."""
        async with asyncio.timeout(WHOLE_WITHIN_S):
            while len(await asyncio.to_thread(self.addresses)) < replicas:
                await asyncio.sleep(POLL_S)

    def kill_busiest(self) -> None:
        """Kills the replica with the most streams, with its engine, as a lost machine does."""
        busiest = max(self.addresses(), key=_running)
        port = int(busiest.rsplit(":", 1)[1])
        pid = next(
            each.pid
            for each in psutil.net_connections("tcp")
            if each.status == psutil.CONN_LISTEN and tuple(each.laddr)[1:] == (port,) and each.pid
        )
        replica = psutil.Process(pid)
        for process in (*replica.children(recursive=True), replica):
            process.kill()


def _running(address: str) -> float:
    try:
        with urlopen(f"{address}/metrics", timeout=5) as page:
            lines = page.read().decode().splitlines()
    except (URLError, OSError):
        return 0.0
    counts = [each for each in lines if each.startswith("vllm:num_requests_running{")]
    return sum(float(each.rsplit(" ", 1)[1]) for each in counts)
