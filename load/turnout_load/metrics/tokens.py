"""Tokens, as the server's usage tells them.

Answers without usage are in no token figure; the summary notes how many they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from turnout_load.record import UNKNOWN


def known(counts: Iterable[int]) -> list[int]:
    """Returns the counts that were told."""
    return [count for count in counts if count != UNKNOWN]
