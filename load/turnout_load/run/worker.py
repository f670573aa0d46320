"""One worker of a run, wherever it lives: it prepares, runs on a signal, and tells how it goes."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field, replace

from turnout_load.client.connection import now_ns
from turnout_load.client.target import origin
from turnout_load.environment import peak_memory_mib
from turnout_load.errors import LoadError
from turnout_load.live import Snapshot
from turnout_load.metrics.usage import Lengths
from turnout_load.records import Records
from turnout_load.run.progress import snapshot
from turnout_load.run.sample import lengths
from turnout_load.run.sender import Sender
from turnout_load.run.shard import Shard
from turnout_load.spec import Spec
from turnout_load.workload.plan import build
from turnout_load.workload.text import load_tokenizer

CLOCK_STEP_S = 0.05
"""How far the wall clock may move against the steady one before the result says so."""


@dataclass(frozen=True)
class Outcome:
    """What one worker brings back."""

    records: Records
    cpu_share: float
    """Of one core, while it ran."""
    connections_opened: int
    peak_in_flight: int
    peak_memory_mib: float
    duration_s: float
    was_stopped: bool
    notes: tuple[str, ...] = field(default=())
    lengths: Lengths = field(default_factory=Lengths)

    def counted(self, found: Lengths | LoadError) -> Outcome:
        """Returns it with what `Worker.count` found."""
        if isinstance(found, LoadError):
            return replace(self, notes=(*self.notes, f"usage is not checked: {found}"))
        return replace(self, lengths=found)


class Worker:
    """Prepares in its constructor; raises `LoadError` for what it cannot use."""

    def __init__(self, spec: Spec, index: int, count: int) -> None:
        self._spec = spec
        self._share = index, count
        self._built = build(spec.workload, spec.seed, spec.duration_s, spec.requests)
        self._origin = origin(spec.target, os.environ)
        self._stopped = asyncio.Event()
        self._sender: Sender | None = None
        self._start_ns = 0
        problems = [f"left out: {problem}" for problem in self._built.problems]
        self.notes = (*self._built.notes, *problems)

    async def run(self, start_wall_ns: int) -> Outcome:
        """Runs its share from that moment of the wall clock on, common to all machines."""
        self._start_ns = now_ns() + start_wall_ns - time.time_ns()
        self._sender = Sender(self._spec, self._origin, self._start_ns)
        index, count = self._share
        shard = Shard(
            self._spec,
            self._built.plan,
            self._built.is_closed,
            self._origin,
            self._sender,
            self._start_ns,
            index,
            count,
        )
        cpu_s, begun_ns = time.process_time(), now_ns()
        await shard.run(self._stopped)
        spent_s = (now_ns() - begun_ns) / 1e9
        return Outcome(
            self._sender.records,
            (time.process_time() - cpu_s) / spent_s,
            self._sender.pool.opened,
            self._sender.peak_in_flight,
            peak_memory_mib(),
            (now_ns() - self._start_ns) / 1e9,
            self._stopped.is_set(),
            (*self._clock_notes(start_wall_ns), *_turn_notes(shard.turns_left_out)),
        )

    def count(self) -> Lengths | LoadError:
        """Counts its sample's tokens, or says why it cannot; for when no worker sends any more."""
        path = self._spec.workload.tokenizer
        if path is None or self._sender is None:
            return Lengths()
        try:
            return lengths(self._sender.sample.kept, path, load_tokenizer(path))
        except LoadError as problem:
            return problem

    def snapshot(self) -> Snapshot | None:
        """Returns how it goes, or None before it runs."""
        if self._sender is None:
            return None
        elapsed_s = max(0.0, (now_ns() - self._start_ns) / 1e9)
        return snapshot(self._sender, elapsed_s, self._spec.duration_s)

    def stop(self) -> None:
        """Ends the run early; what is under way becomes unfinished."""
        self._stopped.set()

    def _clock_notes(self, start_wall_ns: int) -> tuple[str, ...]:
        moved_s = (time.time_ns() - start_wall_ns - (now_ns() - self._start_ns)) / 1e9
        if abs(moved_s) < CLOCK_STEP_S:
            return ()
        return (
            f"the wall clock moved by {moved_s:+.2f} s during the run: durations are right "
            "(they come from a steady clock), times of day are not",
        )


def _turn_notes(left_out: int) -> tuple[str, ...]:
    if not left_out:
        return ()
    return (f"{left_out} later turns were not sent because one before them failed",)
