"""Requests of which only lengths are known: their texts are synthetic, made when they are sent."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from turnout_load.workload.seeded import generator
from turnout_load.workload.text import Prose
from turnout_load.workload.work import Conversation, Turn


@dataclass(slots=True)
class TokenRows:
    """Lengths by row: 16 bytes for each, and two references where teams are told."""

    times_ns: array[int] = field(default_factory=lambda: array("q"))
    input_tokens: array[int] = field(default_factory=lambda: array("i"))
    output_tokens: array[int] = field(default_factory=lambda: array("i"))
    labels: list[tuple[str, int | None]] = field(default_factory=list)
    """Team and priority of each; empty where the file tells none."""


@dataclass(frozen=True, slots=True)
class SizedRequests:
    """Single requests with the rows' lengths, in their order, from the first after the last."""

    rows: TokenRows
    order: Sequence[int]
    prose: Prose
    seed: int

    def conversation(self, index: int) -> Conversation:
        """Returns the request with this number; its text differs each time the rows start over."""
        row = self.order[index % len(self.order)]
        rng = generator(self.seed, "request", index)
        text = self.prose.text(rng, self.rows.input_tokens[row])
        turn = request(text, self.rows.output_tokens[row])
        return Conversation((turn,), *(self.rows.labels[row] if self.rows.labels else ()))


def request(text: str, output_tokens: int | None) -> Turn:
    """Returns a single request of one text."""
    return Turn(({"role": "user", "content": text},), max_tokens=output_tokens)
