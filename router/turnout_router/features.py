"""What a text is judged by: its sentence embedding and a few counts of its characters and words."""

import re
from collections.abc import Sequence
from math import log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from turnout_router.encoders import Encoder

LEXICAL = (
    "log_characters",
    "log_words",
    "log_digits",
    "digit_share",
    "symbol_share",
    "log_numbers",
    "question_marks",
    "several_lines",
    "capital_share",
    "word_length",
    "other_script_share",
)

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DIGITS = b"0123456789"
_SYMBOLS = b"=+-*/^<>{}[]()_\\|$%"
_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def features(texts: Sequence[str], encoder: Encoder) -> NDArray[np.float64]:
    """Returns an array of shape (texts, embedding width + len(LEXICAL)).

    Embeddings have length 1 (an empty text has zeros), so a text's length speaks only through
    the lexical features.
    """
    vectors = encoder.encode(texts)
    width = vectors.shape[1]
    rows = np.empty((len(texts), width + len(LEXICAL)))
    rows[:, :width] = vectors
    for row, text in zip(rows, texts, strict=True):
        embedding = row[:width]
        embedding /= max(sqrt(embedding @ embedding), 1e-6)
        row[width:] = lexical(text)
    return rows


def lexical(text: str) -> list[float]:
    """Returns the numbers that LEXICAL names; shares are of all characters."""
    characters = max(len(text), 1)
    words = text.split()
    data = text.encode("utf-8", "surrogatepass")
    digits = _count(data, _DIGITS)
    is_ascii = len(data) == len(text)
    return [
        log1p(len(text)),
        log1p(len(words)),
        log1p(digits),
        digits / characters,
        _count(data, _SYMBOLS) / characters,
        log1p(len(_NUMBER.findall(text))) if digits else 0.0,
        float(text.count("?")),
        float("\n" in text),
        (_count(data, _CAPITALS) if is_ascii else sum(map(str.isupper, text))) / characters,
        sum(map(len, words)) / max(len(words), 1),
        0.0 if is_ascii else (len(text) - len(text.encode("ascii", "ignore"))) / characters,
    ]


def _count(data: bytes, members: bytes) -> int:
    """Returns how many bytes are members; fast, and right in UTF-8 for ASCII members."""
    return len(data) - len(data.translate(None, members))
