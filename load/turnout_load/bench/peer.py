"""What a load tool must be able to say of itself to be compared with another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from turnout_load.errors import LoadError


class PeerFailed(LoadError):
    """A tool did not do what it was asked to."""

    def __init__(self, tool: str, problem: str, log: str) -> None:
        super().__init__(tool, problem, log)

    def __str__(self) -> str:
        tool, problem, log = self.args
        return f"{tool}: {problem}; its last words:\n{log}"


@dataclass(frozen=True)
class Load:
    """What every tool is asked to send, and where."""

    address: str
    """Of the server, such as `http://127.0.0.1:4321`."""
    arrivals: str
    """`constant`, `poisson`, or `closed`."""
    duration_s: float
    """Where `requests` are given, what they may take."""
    rate: float = 0.0
    """Requests a second; not used by `closed`."""
    users: int = 1
    """Of `closed`."""
    stream: bool = True
    output_tokens: int = 32
    seed: int = 0
    model: str = "mock"
    requests: int | None = None
    """Ends the load in place of its duration."""
    exact_output: bool = False
    """Keeps the server from ending an answer sooner (vLLM's `ignore_eos`)."""


@dataclass(frozen=True)
class Files:
    """Where a tool finds its inputs and leaves its results."""

    folder: Path
    prompts: Path
    """JSONL of `{"text": …}`."""
    tokenizer: Path
    """A folder as transformers reads it."""


@dataclass(frozen=True)
class Command:
    """How to start a tool."""

    argv: tuple[str, ...]
    inputs: Mapping[Path, str] = field(default_factory=dict)
    """Files that it reads, by path."""
    environment: Mapping[str, str] = field(default_factory=dict)


Figures = Mapping[str, Mapping[str, float]]
"""Percentiles `p50` and `p99` in milliseconds, by the mock's name of the same thing: `ttft_ms`,
`itl_ms` (every gap between chunks), `request_itl_ms` (the mean gap of each request)."""


class Peer(Protocol):
    """A load tool."""

    name: str
    locks: str | None
    """Its lock file's name; None for this tool, which runs where the benchmark runs."""

    def command(self, python: Path, load: Load, files: Files) -> Command:
        """Returns how it is started with this interpreter's environment."""
        ...

    def report(self, files: Files) -> Path:
        """Returns where its JSON is afterwards."""
        ...

    def figures(self, report: Mapping[str, Any]) -> Figures:
        """Reads its JSON; raises `KeyError` or `TypeError` where a figure is missing."""
        ...
