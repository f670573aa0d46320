"""What makes one answer wait for another, as in an engine: places, prompts to read, a prefix cache.

Prompts are read one after the other, answers are written side by side. Everything is known when a
request arrives, so a client that leaves keeps its place until its answer would have ended.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from msgspec.structs import replace

from turnout_load.mock.ask import Ask
from turnout_load.mock.settings import MockSettings

MS = 1_000_000
BLOCK_WORDS = 16
"""As vLLM's blocks: only whole ones are kept."""


class PrefixCache:
    """Blocks of words, each with everything before it; the least recently used ones go first."""

    def __init__(self, words: int) -> None:
        self._most = words // BLOCK_WORDS
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def take_in(self, words: Sequence[str]) -> int:
        """Returns how many words of a prompt's beginning were kept already, and keeps the prompt.

        At least its last word has to be read again, as in vLLM.
        """
        chain = list(_chain(words))
        known = next((at for at, block in enumerate(chain) if block not in self._blocks), None)
        hit = len(chain) if known is None else known
        for block in reversed(chain):  # a block goes before those that it needs
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._most:
            self._blocks.popitem(last=False)
        return min(hit * BLOCK_WORDS, max(len(words) - 1, 0))


def _chain(words: Sequence[str]) -> Iterator[int]:
    last = 0
    for at in range(0, len(words) - BLOCK_WORDS + 1, BLOCK_WORDS):
        last = hash((last, *words[at : at + BLOCK_WORDS]))
        yield last


class Engine:
    """The places and the cache of one mock."""

    def __init__(self, settings: MockSettings) -> None:
        self._settings = settings
        self._cache = PrefixCache(settings.cache_tokens)
        self._ends_ns: list[int] = []
        self._reads_until_ns = 0

    def admit(self, ask: Ask, now_ns: int) -> MockSettings:
        """Returns the settings of this one answer: its wait, and what it finds in the cache."""
        settings = self._settings
        if not (settings.places or settings.prefill_ms_per_token or settings.cache_tokens):
            return settings
        words = ask.words
        cached = self._cache.take_in(words) if settings.cache_tokens else 0
        start_ns = max(now_ns, self._free_ns())
        reading_ns = round((len(words) - cached) * settings.prefill_ms_per_token * MS)
        self._reads_until_ns = max(start_ns, self._reads_until_ns) + reading_ns
        wait_ms = (self._reads_until_ns - now_ns) / MS if reading_ns else (start_ns - now_ns) / MS
        ttft_ms = wait_ms + settings.ttft_ms
        further_ms = max(0, ask.tokens(settings.tokens) - 1) * settings.itl_ms
        heappush(self._ends_ns, now_ns + round((ttft_ms + further_ms) * MS))
        share = settings.cached_share
        if settings.cache_tokens and words:
            share = (cached + 0.5) / len(words)  # `usage` rounds down
        return replace(settings, ttft_ms=ttft_ms, cached_share=share)

    def _free_ns(self) -> int:
        """Returns when a place is free, and takes it."""
        places = self._settings.places
        return heappop(self._ends_ns) if places and len(self._ends_ns) >= places else 0
