"""Builds a run's plan: which conversations are started, and when."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, repeat

from turnout_load.errors import BadData, BadOption
from turnout_load.spec import Workload
from turnout_load.workload.adjusted import Adjusted
from turnout_load.workload.arrivals import arrivals
from turnout_load.workload.lengths import amount, length
from turnout_load.workload.mix import mix
from turnout_load.workload.source import Source
from turnout_load.workload.sources import source
from turnout_load.workload.work import Dataset, Plan, Planned

Starts = Callable[[], Iterator[int | None]]
HISTORIES = ("recorded", "live")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A plan: starts in order, and the conversation that belongs to each."""

    starts_ns: Starts
    dataset: Dataset
    requests: int | None
    duration_ns: float

    def planned(self, shard: int, shards: int) -> Iterator[Planned]:
        """Yields this shard's share, making only its own conversations."""
        for index, offset_ns in enumerate(islice(self.starts_ns(), self.requests)):
            if offset_ns is not None and offset_ns >= self.duration_ns:
                return
            if index % shards == shard:
                yield Planned(index, offset_ns, self.dataset.conversation(index))


@dataclass(frozen=True, slots=True)
class Built:
    """A plan, and what a report says about its data."""

    plan: Plan
    problems: tuple[BadData, ...]
    """Lines that were left out: the first of them, by name."""
    is_closed: bool
    notes: tuple[str, ...]


def build(workload: Workload, seed: int, duration_s: float | None, requests: int | None) -> Built:
    """Returns the plan of a run that ends with its duration or requests, whichever comes first.

    Files are read and checked here. A trace keeps its own times and ends with its last request;
    a dataset starts over; without a limit the plan has no end. Raises BadOption or BadData.
    """
    _check(workload, duration_s, requests)
    opened = source(workload, seed)
    starts_ns, expected = _starts(workload, opened, seed, duration_s)
    plan = Schedule(
        starts_ns,
        _adjusted(workload, opened.dataset, seed),
        requests,
        math.inf if duration_s is None else duration_s * 1e9,
    )
    is_closed = workload.arrivals == "closed" and workload.trace is None
    asked = min(expected, math.inf if requests is None else requests)
    return Built(plan, opened.problems, is_closed, (*opened.notes, *_size_notes(opened, asked)))


def _starts(
    workload: Workload, opened: Source, seed: int, duration_s: float | None
) -> tuple[Starts, float]:
    """Returns when conversations start, and how many are expected to within the duration."""
    if (offsets := opened.offsets_ns) is not None:
        return lambda: (round(offset / workload.speed) for offset in offsets), math.inf
    if workload.arrivals == "closed":
        return lambda: repeat(None), math.inf
    timed = arrivals(workload, duration_s)
    expected = math.inf if duration_s is None else timed.profile.expected(duration_s)
    return lambda: timed.offsets_ns(seed), expected


def _adjusted(workload: Workload, dataset: Dataset, seed: int) -> Dataset:
    is_synthetic = workload.dataset is None and workload.trace is None
    output = None if is_synthetic else workload.output_tokens
    return Adjusted(
        dataset,
        seed,
        length("--output-tokens", output) if output else None,
        amount("--think-time-s", workload.think_time_s),
        mix(workload.mix) if workload.mix else None,
    )


def _size_notes(opened: Source, asked: float) -> tuple[str, ...]:
    size = math.inf if opened.size is None else opened.size
    if asked <= size or math.isinf(asked):
        return ()
    if opened.offsets_ns is not None:
        return (f"the trace has {size} requests; {asked:.0f} were asked for: it ends sooner",)
    return (
        f"the dataset has {size} conversations; {asked:.0f} were asked for: it starts over, "
        "and a prefix cache may know what it sends again",
    )


def _check(workload: Workload, duration_s: float | None, requests: int | None) -> None:
    if duration_s is not None and not 0 < duration_s < math.inf:
        raise BadOption("--duration", str(duration_s), "seconds, above 0")
    if requests is not None and requests < 1:
        raise BadOption("--requests", str(requests), "1 or more")
    if not 0 < workload.speed < math.inf:
        raise BadOption("--speed", str(workload.speed), "a factor above 0")
    if workload.history not in HISTORIES:
        raise BadOption("--history", workload.history, " or ".join(HISTORIES))
