"""What a gateway must be able to say of itself to be measured beside another."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from turnout_load.errors import LoadError


class SystemFailed(LoadError):
    """A system did not start, or did not answer."""

    def __init__(self, system: str, problem: str, log: str) -> None:
        super().__init__(system, problem, log)

    def __str__(self) -> str:
        system, problem, log = self.args
        return f"{system}: {problem}; its last words:\n{log}"


@dataclass(frozen=True)
class Endpoint:
    """Where a system answers, and what for."""

    url: str
    """The OpenAI base URL, such as `http://127.0.0.1:4000/v1`."""
    model: str
    key_file: Path | None = None
    """Holds the key that requests carry; None sends none."""


@dataclass(frozen=True)
class Stage:
    """What a system is given to run with."""

    mock: str
    """Address of the only engine behind it, such as `http://127.0.0.1:4321`."""
    folder: Path
    """Its own, for its configuration and its log."""
    python: Path
    """The interpreter of its environment."""
    cpu: int
    """The core that all of its processes are bound to."""
    mark: str
    """What its processes carry in their environment (`processes.MARK`)."""

    @property
    def log(self) -> Path:
        """Where its words go."""
        return self.folder / "log.txt"


class System(Protocol):
    """A gateway, or the way past all of them."""

    name: str
    locks: str | None
    """Its lock file's name; None where it runs in the benchmark's own environment."""

    def started(self, stage: Stage) -> AbstractContextManager[Endpoint]:
        """Starts it and yields where it answers, once it does; raises `SystemFailed`.

        All of its processes have ended when the context is left.
        """
        ...
