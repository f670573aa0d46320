"""The results of a batch as they come: each is on disk before it counts.

Every claim of a batch writes a segment of its own, so that two gateways never write to one file,
not even where the first was only thought dead. A line that was torn, or that both did, counts once.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import msgspec

from turnout.batches.lines import lines_of

MOST_BYTES = 1 << 30


class Result(msgspec.Struct, frozen=True):
    """What became of one line of the input."""

    n: int
    """The line's number."""
    ok: bool
    line: msgspec.Raw
    """The line of the output or of the error file."""


class Journal:
    """One segment: written by one claim, read by whoever comes after."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.jsonl"
        self._descriptor: int | None = None
        self._waiting: list[bytes] = []
        self._lock = asyncio.Lock()
        self._error: OSError | None = None
        # One thread: what a cancelled task began there ends before the file is closed.
        self._thread = ThreadPoolExecutor(max_workers=1)

    async def add(self, result: Result) -> None:
        """Keeps a result; it is on disk when this returns. Raises OSError, then for ever.

        Results that come while the disk works are written together.
        """
        self._waiting.append(msgspec.json.encode(result) + b"\n")
        async with self._lock:
            if self._waiting and self._error is None:
                data, self._waiting = b"".join(self._waiting), []
                await asyncio.get_running_loop().run_in_executor(self._thread, self._write, data)
            if self._error is not None:
                raise self._error

    def _write(self, data: bytes) -> None:
        try:
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                self._descriptor = os.open(self._path, flags, 0o600)
            if os.write(self._descriptor, data) < len(data):
                raise OSError(0, "the disk took only part of the results")
            os.fsync(self._descriptor)
        except OSError as error:
            self._error = error

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)


async def results_in(folder: Path) -> AsyncIterator[Result]:
    """Yields the results of all segments, each line's first one; raises OSError."""
    seen: set[int] = set()
    for path in sorted(folder.glob("*.jsonl")):
        async for _, line in lines_of(path, MOST_BYTES):
            try:
                result = msgspec.json.decode(line, type=Result)
            except msgspec.MsgspecError:
                continue  # torn by a power cut or a kill: it is done again
            if result.n not in seen:
                seen.add(result.n)
                yield result
