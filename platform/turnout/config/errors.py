"""What can go wrong with a config file.

TurnoutError
├── ConfigInvalid      the file has mistakes; all of them are listed
├── ConfigUnreadable   there is no such file, or it is not text
└── EngineCheckFailed  vLLM and Ray could not be asked about it
"""

from collections.abc import Sequence

from turnout.config.problems import Problem
from turnout.errors import TurnoutError


class ConfigInvalid(TurnoutError):
    """A config file has mistakes; `problems` lists all of them."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        super().__init__(source, problems)
        self.source = source
        self.problems = tuple(problems)

    def __str__(self) -> str:
        """Lists every mistake on a line of its own."""
        count = len(self.problems)
        head = f"{self.source}: {count} mistake{'s' if count > 1 else ''}"
        return "\n".join([head, *(f"  {problem}" for problem in self.problems)])


class ConfigUnreadable(TurnoutError):
    """A config file could not be read as text at all."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source = source
        self.reason = reason

    def __str__(self) -> str:
        """Says which file and why."""
        return f"{self.source}: {self.reason}"


class EngineCheckFailed(TurnoutError):
    """The process that asks vLLM and Ray ended without an answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        """Says why, and how to go on without it."""
        return (
            f"engine arguments could not be checked ({self.reason}): install the engine's "
            "packages, or leave this part out with --no-engine"
        )
