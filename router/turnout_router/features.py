"""What a text is judged by: its sentence embedding and a few counts of its characters and words."""

import re
from collections.abc import Sequence
from math import log1p

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
_DIGITS = "0123456789"
_SYMBOLS = "=+-*/^<>{}[]()_\\|$%"


def features(texts: Sequence[str], encoder: Encoder) -> NDArray[np.float64]:
    """Returns an array of shape (texts, embedding width + len(LEXICAL)).

    Embeddings have length 1 (an empty text has zeros), so a text's length speaks only through
    the lexical features.
    """
    vectors = encoder.encode(texts).astype(np.float64)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    counts = np.array([lexical(text) for text in texts])
    return np.hstack([vectors / np.maximum(norms, 1e-6), counts])


def lexical(text: str) -> list[float]:
    """Returns the numbers that LEXICAL names; shares are of all characters."""
    characters = max(len(text), 1)
    words = text.split()
    digits = sum(map(text.count, _DIGITS))
    return [
        log1p(len(text)),
        log1p(len(words)),
        log1p(digits),
        digits / characters,
        sum(map(text.count, _SYMBOLS)) / characters,
        log1p(len(_NUMBER.findall(text))),
        float(text.count("?")),
        float("\n" in text),
        sum(map(str.isupper, text)) / characters,
        sum(map(len, words)) / max(len(words), 1),
        (len(text) - len(text.encode("ascii", "ignore"))) / characters,
    ]
