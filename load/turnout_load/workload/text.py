"""Synthetic prose of a wanted number of tokens, seeded, and no two texts alike.

A text of n words is one of 256ⁿ: among a million texts of 16 words (the shortest block that a
prefix cache keeps) two equal ones have a chance below 10⁻²⁶. Counts are of the text alone: what a
chat template puts around it comes on top.
"""

from __future__ import annotations

from random import Random
from typing import Any, Self

from turnout_load.errors import BadData, BadOption
from turnout_load.workload.words import WORDS

FEWEST_WORDS = 64
"""Below it a tokenizer's own words would make texts too much alike."""
ATTEMPTS = 10


def load_tokenizer(path: str) -> Any:
    """Reads a tokenizer.json; raises BadOption without the package, or BadData."""
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        expected = "the package 'tokenizers' beside it: pip install tokenizers"
        raise BadOption("--tokenizer", path, expected) from error
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # tokenizers raises nothing more exact
        raise BadData(path, None, f"is no tokenizer.json: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class Prose:
    """Makes texts; with a tokenizer their length is exact, without one it is by `words.WORDS`."""

    def __init__(self, tokenizer: Any = None) -> None:
        self._tokenizer = tokenizer
        whole = [word for word in WORDS if tokenizer is None or self._is_whole(word)]
        words = whole if len(whole) >= FEWEST_WORDS else WORDS
        self._words = [words[byte % len(words)] for byte in range(256)]

    @classmethod
    def load(cls, path: str | None) -> Self:
        """Reads a tokenizer.json, or None; raises as `load_tokenizer` does."""
        return cls(None if path is None else load_tokenizer(path))

    def text(self, rng: Random, tokens: int) -> str:
        """Returns a text of this many tokens."""
        return self.fitted(self.words(rng, tokens), rng, tokens)

    def words(self, rng: Random, count: int) -> str:
        """Returns this many words; fewer from an equal generator are their beginning."""
        # Bytes come in fours: only whole fours are the same whatever the count is.
        picked = rng.randbytes(-(-count // 4) * 4)[:count]
        return " ".join(map(self._words.__getitem__, picked))

    def fitted(self, text: str, rng: Random, tokens: int) -> str:
        """Trims or extends a text at its end until the tokenizer, where given, counts `tokens`.

        A tokenizer for which no end fits within `ATTEMPTS` leaves the text some tokens off.
        """
        if self._tokenizer is None:
            return text
        for _ in range(ATTEMPTS):
            encoding = self._encode(text)
            excess = len(encoding) - tokens
            if excess > 0:
                text = text[: encoding.offsets[tokens - 1][1]]
            elif excess < 0:
                text = f"{text} {self.words(rng, -excess)}"
            else:
                break
        return text

    def _encode(self, text: str) -> Any:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _is_whole(self, word: str) -> bool:
        return len(self._encode(word)) == 1 and len(self._encode(f"{word} {word}")) == 2
