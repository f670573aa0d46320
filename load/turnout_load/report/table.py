"""A table of text, before it is HTML or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a head; all but the first column and those of words are figures."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    words: frozenset[int] = frozenset()
    """Columns of prose."""
    verbatim: frozenset[int] = frozenset()
    """Columns of text that is not ours, such as what a server said."""
