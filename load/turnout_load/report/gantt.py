"""The slowest requests, each with where its time went."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from turnout_load.metrics.e2e import e2e_ms
from turnout_load.metrics.metric import MS, S
from turnout_load.record import UNKNOWN, Record
from turnout_load.report.markup import Element, element
from turnout_load.report.scale import Scale, exact, tick_text
from turnout_load.report.svg import line, picture, rectangle, text
from turnout_load.report.table import Table
from turnout_load.report.units import milliseconds, seconds
from turnout_load.summarize import UNFINISHED

SLOWEST = 50
QUEUE, FIRST, STREAM, WHOLE = "queue", "first", "stream", "whole"
PHASES = {
    QUEUE: "waits at the client",
    FIRST: "to the first token",
    STREAM: "streams",
    WHOLE: "waits, no first token seen",
}
"""What each phase is called; the key is its class in the page's style sheet."""
WIDTH, ROW, HEAD, FOOT = 1040.0, 15.0, 20.0, 36.0
NAMES_END, WHEN_BEGIN, WHEN_END, BARS_BEGIN, BARS_END = 96.0, 112.0, 222.0, 242.0, 880.0


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a request's life, in ms from when it was to be sent."""

    name: str
    begin_ms: float
    end_ms: float


def slowest(records: Iterable[Record], count: int = SLOWEST) -> list[Record]:
    """Returns the requests with the longest E2E, failed ones too, the slowest first."""
    ended = (record for record in records if record.error != UNFINISHED and e2e_ms(record))
    return heapq.nlargest(count, ended, key=lambda record: e2e_ms(record) or 0.0)


def phases(record: Record) -> Iterator[Phase]:
    """Yields the phases of a request that took any time."""
    moments = [(QUEUE, record.sent_ns), (WHOLE, record.end_ns)]
    if record.first_ns != UNKNOWN:
        moments[1:] = [(FIRST, record.first_ns), (STREAM, record.end_ns)]
    begin_ns = record.intended_ns
    for name, end_ns in moments:
        if end_ns > begin_ns:
            begin_ms, end_ms = ((at - record.intended_ns) / MS for at in (begin_ns, end_ns))
            yield Phase(name, begin_ms, end_ms)
            begin_ns = end_ns


def gantt(records: Sequence[Record], run_s: float) -> Element:
    """Draws requests as bars from their intended send times, and when in the run that was."""
    height = HEAD + ROW * len(records) + FOOT
    longest_s = max(e2e_ms(record) or 0.0 for record in records) / 1000
    time, run = exact(longest_s, 8), exact(run_s, 2)
    parts = [
        text((NAMES_END, 12), "request", "end label"),
        text((WHEN_BEGIN, 12), "when in the run", "label"),
        text((BARS_BEGIN, 12), "its time", "label"),
        *_axis(run, (WHEN_BEGIN, WHEN_END), height),
        *_axis(time, (BARS_BEGIN, BARS_END), height),
        text(((WHEN_BEGIN + WHEN_END) / 2, height - 4), "s", "middle label"),
        text(
            ((BARS_BEGIN + BARS_END) / 2, height - 4), "s since it was to be sent", "middle label"
        ),
    ]
    for number, record in enumerate(records):
        parts += _row(record, HEAD + ROW * number, time, run)
    title = f"The {len(records)} slowest requests"
    return picture(
        title, "A bar for each, cut into phases; the table has them.", (WIDTH, height), parts
    )


def _row(record: Record, top: float, time: Scale, run: Scale) -> list[Element]:
    base = top + ROW - 4
    when = _across(run, record.intended_ns / S, WHEN_BEGIN, WHEN_END)
    parts = [
        text((NAMES_END, base), name(record), "end tick"),
        element("circle", {"cx": when, "cy": top + ROW / 2, "r": 2.5, "class": "when"}),
    ]
    for phase in phases(record):
        left, right = (
            _across(time, at / 1000, BARS_BEGIN, BARS_END) for at in (phase.begin_ms, phase.end_ms)
        )
        told = f"{name(record)}: {PHASES[phase.name]} {milliseconds(phase.end_ms - phase.begin_ms)}"
        size = (right - left, ROW - 4)
        parts.append(rectangle((left, top + 2), size, phase.name, told))
    end = _across(time, (e2e_ms(record) or 0.0) / 1000, BARS_BEGIN, BARS_END)
    told = " ".join((milliseconds(e2e_ms(record)), record.error))
    return [*parts, text((end + 6, base), told.strip(), "bad tick" if record.error else "tick")]


def name(record: Record) -> str:
    """Returns a request's number, and its turn if it is not the first."""
    return f"{record.index}, turn {record.turn + 1}" if record.turn else str(record.index)


def table(records: Sequence[Record]) -> Table:
    """Returns the same requests in words and figures."""
    head = ("request", "to be sent at", *PHASES.values(), "E2E", "model", "error", "detail")
    return Table(head, [_cells(record) for record in records], verbatim=frozenset({7, 8, 9}))


def _cells(record: Record) -> tuple[str, ...]:
    taken = {phase.name: phase.end_ms - phase.begin_ms for phase in phases(record)}
    return (
        name(record),
        seconds(round(record.intended_ns / S, 2)),
        *(milliseconds(taken.get(phase)) for phase in PHASES),
        milliseconds(e2e_ms(record)),
        record.model,
        record.error,
        record.detail,
    )


def _axis(scale: Scale, span: tuple[float, float], height: float) -> list[Element]:
    parts = []
    for tick in scale.ticks:
        x = _across(scale, tick, *span)
        parts.append(line((x, HEAD), (x, height - FOOT + 4), "grid"))
        parts.append(text((x, height - FOOT + 18), tick_text(tick), "middle tick"))
    return parts


def _across(scale: Scale, value: float, begin: float, end: float) -> float:
    return begin + scale.share(value) * (end - begin)
