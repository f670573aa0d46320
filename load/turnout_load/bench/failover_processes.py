"""The processes that are killed: echo replicas of our own, and engines of a deployment."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, cast
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
    """A deployment's replicas of one model, as `turnout status --json` tells them at first.

    Later looks are cheap: where engines keep every core busy, a command takes half a minute.
    """

    def __init__(self, turnout: str, model: str) -> None:
        told = subprocess.run([turnout, "status", "--json"], capture_output=True, check=True)
        status = json.loads(told.stdout)
        self._root, self._model = str(status["url"]).removesuffix("/v1"), model
        self.url = f"{self._root}/v1"
        self.addresses: list[str] = status["engines"].get(model, [])
        """Where the model's replicas answer at first."""

    def ready(self) -> float:
        """Returns how many replicas the gateway has."""
        with urlopen(f"{self._root}/metrics", timeout=30) as page:
            lines = page.read().decode().splitlines()
        ours = f'model="{self._model}"'
        ready = [each for each in lines if each.startswith("turnout_replicas_ready{")]
        return sum(float(each.rsplit(" ", 1)[1]) for each in ready if ours in each)

    async def is_whole(self, replicas: int) -> None:
        """Waits until so many replicas are ready; raises TimeoutError after five minutes."""
        async with asyncio.timeout(WHOLE_WITHIN_S):
            while await asyncio.to_thread(self.ready) < replicas:
                await asyncio.sleep(POLL_S)

    def kill_one(self, chance: random.Random) -> None:
        """Kills a replica with its engine, as a lost machine does."""
        found = [each for each in self._raylet.children() if _title(each) == self._title]
        replica = chance.choice(sorted(found, key=lambda each: each.pid))
        for process in (*replica.children(recursive=True), replica):
            process.kill()

    def is_known(self) -> bool:
        """Finds the processes that `kill_one` needs; tells whether there are any."""
        return self._raylet.is_running() and bool(self._title)

    @cached_property
    def _first(self) -> psutil.Process:
        port = int(self.addresses[0].rsplit(":", 1)[1])
        return psutil.Process(
            next(
                each.pid
                for each in psutil.net_connections("tcp")
                if each.status == psutil.CONN_LISTEN
                and tuple(each.laddr)[1:] == (port,)
                and each.pid
            )
        )

    @cached_property
    def _raylet(self) -> psutil.Process:
        """The process that starts this deployment's replicas, and no other's."""
        parent = self._first.parent()
        assert parent is not None
        return parent

    @cached_property
    def _title(self) -> str:
        return _title(self._first)


def _title(process: psutil.Process) -> str:
    """Returns what Ray calls a replica's process, without the method that it runs just now."""
    try:
        return process.name().split(".")[0]
    except psutil.Error:
        return ""
