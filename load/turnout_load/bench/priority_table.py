"""The two policies' table, of what each request of both met. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from turnout_load.bench.outcome import Cell
from turnout_load.stats.percentiles import quantile

KINDS = ("short", "long")


class Answer(NamedTuple):
    """What a request met, in seconds from its intended send; its end from the run's start."""

    kind: str
    ttft_s: float
    e2e_s: float
    end_s: float


TIMES: Mapping[str, Callable[[Answer], float]] = {
    "TTFT": lambda answer: answer.ttft_s,
    "E2E": lambda answer: answer.e2e_s,
}


def _p95(values: Sequence[float]) -> float:
    return quantile(sorted(values), 0.95)


FIGURES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "p95": _p95,
}


def rows(fcfs: Sequence[Answer], priority: Sequence[Answer]) -> list[list[Cell]]:
    """Returns mean and p95 of TTFT and E2E, of all requests and by kind, and the longest wait."""
    table: list[list[Cell]] = []
    for kind in ("all", *KINDS):
        sides = _of_kind(fcfs, kind), _of_kind(priority, kind)
        for time, of in TIMES.items():
            for figure, summed in FIGURES.items():
                table.append(_row(f"{kind}: {figure} {time}, s", sides, of, summed))
    longs = _of_kind(fcfs, "long"), _of_kind(priority, "long")
    return [*table, _row("long: longest TTFT, s", longs, TIMES["TTFT"], max)]


def _of_kind(answers: Sequence[Answer], kind: str) -> list[Answer]:
    return [answer for answer in answers if kind in ("all", answer.kind)]


def _row(
    name: str,
    sides: tuple[Sequence[Answer], Sequence[Answer]],
    of: Callable[[Answer], float],
    summed: Callable[[Sequence[float]], float],
) -> list[Cell]:
    """Returns a figure of both policies and their ratio; of a kind that nobody asked for, none."""
    if not all(sides):
        return [name, 0, None, None, None]
    fcfs, priority = (summed([of(answer) for answer in answers]) for answers in sides)
    return [name, len(sides[0]), fcfs, priority, priority / fcfs]
