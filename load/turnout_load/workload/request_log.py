"""A log of requests that were served, to be sent again: JSONL, or this tool's own CSV of requests.

    {"t_s": 12.5, "messages": [{"role": "user", "content": "…"}], "max_tokens": 256,
     "team": "search", "priority": 1, "temperature": 0}
    {"t_s": 12.9, "input_tokens": 640, "output_tokens": 128}

Each line is one request, however many messages it has; without messages its text is synthetic and
`input_tokens` long. `t_s` are seconds from any start; only a replay as a trace needs them.
`output_tokens` (what was answered) becomes `max_tokens`, else the line's own `max_tokens`.
A file whose name ends with .csv has the columns intended_ms, input_tokens and output_tokens, and
may have team and priority. Lines stay in the mapped file: a process keeps 32 bytes for each.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from turnout_load.workload import csv_trace
from turnout_load.workload.chat_file import Lines
from turnout_load.workload.messages import body_fields, check_messages
from turnout_load.workload.reading import Problems, Seconds, Tokens, decoded, lines, mapped
from turnout_load.workload.seeded import generator
from turnout_load.workload.source import Source, in_time_order
from turnout_load.workload.text import Prose
from turnout_load.workload.token_rows import request
from turnout_load.workload.work import Conversation, Turn

LOGGED = {"t_s", "input_tokens", "output_tokens"}
"""Fields by which a line is known for a log's."""


class Logged(msgspec.Struct):
    """What is read of a line, beside the fields that are sent as they are."""

    t_s: Seconds | None = None
    messages: list[dict[str, Any]] = []
    input_tokens: Tokens | None = None
    max_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    team: str | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class RequestLog:
    """Single requests in their order, from the first again after the last."""

    texts: Lines
    order: Sequence[int]
    prose: Prose
    seed: int

    def conversation(self, index: int) -> Conversation:
        """Returns the request with this number."""
        fields, logged = parse(self.texts[self.order[index % len(self.order)]])
        turn = self._turn(index, logged)
        return Conversation((turn,), logged.team or "", logged.priority, body_fields(fields))

    def _turn(self, index: int, logged: Logged) -> Turn:
        max_tokens = logged.output_tokens or logged.max_tokens
        if logged.messages or logged.input_tokens is None:
            return Turn(tuple(logged.messages), max_tokens)
        text = self.prose.text(generator(self.seed, "request", index), logged.input_tokens)
        return request(text, max_tokens)


def read(path: str, prose: Prose, seed: int, *, timed: bool) -> Source:
    """Reads and checks a log, for its own times if `timed`; raises BadData if it is of no use."""
    if _is_csv(path):
        opened = csv_trace.read(path, csv_trace.OWN, prose, seed)
        return opened if timed else replace(opened, offsets_ns=None)
    data = mapped(path)
    texts, times_ns, problems = Lines(data), array("q"), Problems(path)
    for line in lines(data):
        try:
            _, logged = parse(line.text)
            times_ns.append(_time_ns(logged, timed))
        except ValueError as error:
            problems.add(line.number, error)
        else:
            texts.append(line.start, line.end)
    named = problems.checked(len(texts))
    offsets, order = in_time_order(times_ns)
    return Source(
        RequestLog(texts, order, prose, seed),
        len(order),
        offsets if timed else None,
        named,
        problems.notes,
    )


def is_log(path: str) -> bool:
    """Says whether a file's name, or the first line of it that is an object, is a log's."""
    if _is_csv(path):
        return True
    for line in lines(mapped(path)):
        try:
            first = decoded(line.text, dict[str, Any])
        except ValueError:
            continue
        return not LOGGED.isdisjoint(first)
    return False


def _is_csv(path: str) -> bool:
    return path.lower().endswith(".csv")


def parse(text: bytes) -> tuple[dict[str, Any], Logged]:
    """Returns a line's fields, as they are and checked; raises ValueError for one of no use."""
    fields = decoded(text, dict[str, Any])
    logged = msgspec.convert(fields, Logged)
    if logged.messages or logged.input_tokens is None:
        check_messages(logged.messages)
    return fields, logged


def _time_ns(logged: Logged, timed: bool) -> int:
    if not timed:
        return 0  # the file's order stays
    if logged.t_s is None:
        raise ValueError("it has no t_s, which a replay needs")
    return round(logged.t_s * 1e9)
