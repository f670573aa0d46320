"""Plays a script on a connection, and records when each of its steps was written."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Protocol

from turnout_load.mock.pacer import Pacer
from turnout_load.mock.script import End, Script, Step
from turnout_load.mock.truth import Truth


class Line(Protocol):
    """What a script is played on."""

    def write(self, data: bytes) -> None:
        """Sends bytes."""

    def close(self) -> None:
        """Sends what is left, and hangs up."""

    def is_closing(self) -> bool:
        """Says whether nobody listens any more."""
        ...


class Player:
    """One answer on its way."""

    def __init__(self, script: Script, line: Line, arrived_ns: int, truth: Truth) -> None:
        self._script = script
        self._line = line
        self._arrived_ns = arrived_ns
        self._truth = truth
        self._next = 0
        self._first_ns = self._last_ns = 0
        self._contents = 0

    def play(self, pacer: Pacer, then: Callable[[End], None]) -> None:
        """Writes what is due, and comes back for the rest; calls `then` at the script's end."""
        steps = self._script.steps
        while self._next < len(steps):
            step = steps[self._next]
            due_ns = self._arrived_ns + step.offset_ns
            if due_ns > perf_counter_ns():
                pacer.at(due_ns, lambda: self.play(pacer, then))
                return
            if self._line.is_closing():
                self._truth.abandoned += 1
                return
            self._write(step, due_ns)
            self._next += 1
        self._finish()
        then(self._script.end)

    def _write(self, step: Step, due_ns: int) -> None:
        now_ns = perf_counter_ns()
        self._line.write(step.data)
        if not step.has_content:
            return
        if step.offset_ns:
            self._truth.late.add(now_ns - due_ns)
        if self._contents:
            self._truth.itl.add(now_ns - self._last_ns)
        else:
            self._first_ns = now_ns
        self._contents += 1
        self._last_ns = now_ns

    def _finish(self) -> None:
        self._truth.answered += 1
        if not self._contents:
            return
        self._truth.e2e.add(self._last_ns - self._arrived_ns)
        if self._script.is_stream:
            self._truth.ttft.add(self._first_ns - self._arrived_ns)
        if self._contents > 1:
            span_ns = self._last_ns - self._first_ns
            self._truth.request_itl.add(span_ns // (self._contents - 1))
