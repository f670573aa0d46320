"""Shows what `turnout up` is doing: one line per step, with the time it took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.status import Status


class Step:
    """A running step; `tell` changes the text beside its spinner."""

    def __init__(self, title: str, console: Console, status: Status | None) -> None:
        self._title, self._console, self._status = title, console, status
        self._started_s = time.monotonic()
        self._told = ""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self._started_s

    def tell(self, text: str) -> None:
        """Shows what the step is at; without a terminal each new text is a line of its own."""
        if self._status is not None:
            self._status.update(f"{self._title}: {escape(text)} ({self.elapsed_s:.0f} s)")
        elif text != self._told:
            self._console.print(f"  {self.elapsed_s:6.1f} s  {self._title}: {escape(text)}")
        self._told = text


class Progress:
    """Prints steps on a console: live on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Runs a step under its title; prints its time when it succeeds."""
        if self._console.is_terminal:
            with self._console.status(title) as status:
                step = Step(title, self._console, status)
                yield step
        else:
            step = Step(title, self._console, None)
            yield step
        self.seconds[title] = step.elapsed_s
        self._console.print(f"[green]✓[/] {title} [dim]{step.elapsed_s:.1f} s[/]")
