"""Everything the load tool refuses or gives up on.

LoadError
├── BadOption        an option's text that cannot be read
├── BadData          a file's line that cannot be used
├── WorkerLost       a process of the run died
└── Stopped          a comparison was ended before there was anything to compare
"""

from __future__ import annotations

KINDS = (
    "client",  # this machine's own limit: open files, ports
    "connect",  # no connection: refused, no such host, TLS
    "timeout",  # the whole request took longer than it may
    "stalled",  # the server owed an answer and was silent for too long
    "closed",  # the connection ended before the answer did
    "http",  # an answer that is no success; stands with its status, as `http 429`
    "too_large",  # an answer, or an event of a stream, of more than 64 MiB
    "bad_sse",  # a stream that is not server-sent events
    "bad_json",  # an answer or an event that is not JSON, or not OpenAI's
    "no_content",  # a whole answer without a single token
    "error_event",  # an error object inside the stream
    "unfinished",  # under way when the run was stopped: no failure, and in no figure
)
"""How a request can end other than well: what `Record.error` begins with."""


class LoadError(Exception):
    """Something the user can mend: its text says what happened, where, and what to do."""


class BadOption(LoadError):
    """An option's text cannot be read."""

    def __init__(self, option: str, text: str, expected: str) -> None:
        super().__init__(option, text, expected)

    def __str__(self) -> str:
        option, text, expected = self.args
        return f"{option} {text!r}: expected {expected}"


class BadData(LoadError):
    """A file cannot be used, or a line of it."""

    def __init__(self, path: str, line: int | None, problem: str) -> None:
        super().__init__(path, line, problem)

    def __str__(self) -> str:
        path, line, problem = self.args
        return f"{path}:{line}: {problem}" if line else f"{path}: {problem}"


class WorkerLost(LoadError):
    """A process of the run died."""

    def __str__(self) -> str:
        return "a process of the run died: see its message above; was the machine out of memory?"


class Stopped(LoadError):
    """A comparison was ended before there was anything to compare."""

    def __str__(self) -> str:
        return "stopped in the first round: nothing to compare; let both sides finish one round"
