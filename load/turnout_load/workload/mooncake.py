"""Mooncake's traces: JSONL of timestamp (ms), input_length, output_length and hash_ids.

Each hash id names 512 tokens of the prompt together with all before them; the last block may be
shorter. The text of a block is made from its id, so prompts that shared a prefix when they were
recorded share one again. (Qin et al., "Mooncake", FAST 2025, and its open trace.)
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Annotated

import msgspec

from turnout_load.workload.reading import Problems, Tokens, decoded, lines, mapped
from turnout_load.workload.seeded import generator
from turnout_load.workload.source import Source, in_time_order
from turnout_load.workload.text import Prose
from turnout_load.workload.token_rows import TokenRows, request
from turnout_load.workload.work import Conversation

BLOCK_TOKENS = 512
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
HashId = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Line(msgspec.Struct):
    """One request of the trace."""

    timestamp: Milliseconds
    input_length: Tokens
    output_length: Tokens
    hash_ids: list[HashId]


@dataclass(slots=True)
class Blocks:
    """The hash ids of all requests in one array, and where each request's begin."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    begins: array[int] = field(default_factory=lambda: array("Q", (0,)))

    def append(self, ids: Sequence[int]) -> None:
        """Keeps a request's ids."""
        self.ids.extend(ids)
        self.begins.append(len(self.ids))

    def __getitem__(self, row: int) -> array[int]:
        return self.ids[self.begins[row] : self.begins[row + 1]]


@dataclass(frozen=True, slots=True)
class SharedPrefixes:
    """Single requests whose prompts are joined from the texts of their blocks."""

    rows: TokenRows
    blocks: Blocks
    order: Sequence[int]
    prose: Prose
    seed: int

    def conversation(self, index: int) -> Conversation:
        """Returns the request with this number."""
        row = self.order[index % len(self.order)]
        tokens = self.rows.input_tokens[row]
        starts = range(0, tokens, BLOCK_TOKENS)
        text = " ".join(
            self.prose.words(self._block(block), min(BLOCK_TOKENS, tokens - start))
            for start, block in zip(starts, self.blocks[row], strict=True)
        )
        fitted = self.prose.fitted(text, generator(self.seed, "request", index), tokens)
        return Conversation((request(fitted, self.rows.output_tokens[row]),))

    def _block(self, block: int) -> Random:
        return generator(self.seed, "block", block)


def read(path: str, prose: Prose, seed: int) -> Source:
    """Reads and checks a trace; raises BadData if no line of it can be used."""
    rows, blocks, problems = TokenRows(), Blocks(), Problems(path)
    for line in lines(mapped(path)):
        try:
            read = decoded(line.text, Line)
            _check(read)
        except ValueError as error:
            problems.add(line.number, error)
            continue
        rows.times_ns.append(round(read.timestamp * 1e6))
        rows.input_tokens.append(read.input_length)
        rows.output_tokens.append(read.output_length)
        blocks.append(read.hash_ids)
    named = problems.checked(len(rows.times_ns))
    offsets, order = in_time_order(rows.times_ns)
    dataset = SharedPrefixes(rows, blocks, order, prose, seed)
    return Source(dataset, len(order), offsets, named, problems.notes)


def _check(line: Line) -> None:
    wanted = -(-line.input_length // BLOCK_TOKENS)
    if len(line.hash_ids) != wanted:
        held = f"{line.input_length} tokens are {wanted} blocks of {BLOCK_TOKENS}"
        raise ValueError(f"{held}, but it has {len(line.hash_ids)} hash_ids")
