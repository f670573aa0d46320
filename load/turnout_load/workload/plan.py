"""Builds a run's plan: which conversations are started, and when."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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
    skip: int
    """The dataset's number of the plan's first conversation."""
    requests: int | None
    duration_ns: float

    def planned(self, shard: int, shards: int) -> Iterator[Planned]:
        """Yields this shard's share, making only its own conversations."""
        for index, offset_ns in enumerate(islice(self.starts_ns(), self.requests)):
            if offset_ns is not None and offset_ns >= self.duration_ns:
                return
            if index % shards == shard:
                yield Planned(index, offset_ns, self.dataset.conversation(index + self.skip))


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
        workload.skip,
        requests,
        math.inf if duration_s is None else duration_s * 1e9,
    )
    is_closed = workload.arrivals == "closed" and workload.trace is None
    asked = min(expected, math.inf if requests is None else requests)
    notes = (*opened.notes, *_size_notes(opened, workload.skip, asked))
    return Built(plan, opened.problems, is_closed, notes)


def _starts(
    workload: Workload, opened: Source, seed: int, duration_s: float | None
) -> tuple[Starts, float]:
    """Returns when conversations start, and how many are expected to within the duration."""
    if (offsets := opened.offsets_ns) is not None:
        return partial(_trace_starts, offsets, workload.skip, workload.speed), math.inf
    if workload.arrivals == "closed":
        return lambda: repeat(None), math.inf
    timed = arrivals(workload, duration_s)
    expected = math.inf if duration_s is None else timed.profile.expected(duration_s)
    return lambda: timed.offsets_ns(seed), expected


def _trace_starts(offsets_ns: Sequence[int], skip: int, speed: float) -> Iterator[int]:
    for row in range(skip, len(offsets_ns)):
        yield round((offsets_ns[row] - offsets_ns[skip]) / speed)


def _adjusted(workload: Workload, dataset: Dataset, seed: int) -> Dataset:
    is_synthetic = workload.dataset is None and workload.trace is None
    output = None if is_synthetic else workload.output_tokens
    return Adjusted(
        dataset,
        seed,
        length("--output-tokens", output) if output else None,
        amount("--think-time", workload.think_time_s),
        mix(workload.mix) if workload.mix else None,
    )


def _size_notes(opened: Source, skip: int, asked: float) -> tuple[str, ...]:
    size = math.inf if opened.size is None else opened.size
    if skip + asked <= size or math.isinf(asked):
        return ()
    wanted = f"{asked:.0f} were asked for" + (f" after {skip}" if skip else "")
    if opened.offsets_ns is not None:
        return (f"the trace has {size} requests; {wanted}: it ends sooner",)
    return (
        f"the dataset has {size} conversations; {wanted}: it starts over, "
        "and a prefix cache may know what it sends again",
    )


def _check(workload: Workload, duration_s: float | None, requests: int | None) -> None:
    if duration_s is not None and not 0 < duration_s < math.inf:
        raise BadOption("--duration", str(duration_s), "seconds, above 0")
    if requests is not None and requests < 1:
        raise BadOption("--requests", str(requests), "1 or more")
    if not 0 < workload.speed < math.inf:
        raise BadOption("--speed", str(workload.speed), "a factor above 0")
    if workload.skip < 0:
        raise BadOption("--skip", str(workload.skip), "0 or more")
    if workload.history not in HISTORIES:
        raise BadOption("--history", workload.history, " or ".join(HISTORIES))
