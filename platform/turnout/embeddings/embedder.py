"""A sentence-transformers model: texts to tokens and to vectors."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from turnout.errors import TurnoutError
from turnout_router.encoders import minilm_folder

Vectors = NDArray[np.float32]


class BadEmbeddingModel(TurnoutError):
    """A folder that holds no model of this kind, or one that cannot do what `args` say."""

    def __init__(self, folder: str, problem: str) -> None:
        super().__init__(folder, problem)
        self.folder, self.problem = folder, problem

    def __str__(self) -> str:
        return f"the embedding model in {self.folder} {self.problem}"


@dataclass(frozen=True)
class Lengths:
    """Which lengths of vectors a model gives."""

    full: int
    is_trained_for_all: bool = False
    """Whether vectors may be cut off anywhere (Matryoshka representation learning)."""
    trained_for: tuple[int, ...] = ()

    def has(self, dimensions: int) -> bool:
        """Tells whether vectors of this length mean something."""
        if dimensions == self.full or dimensions in self.trained_for:
            return True
        return self.is_trained_for_all and not self.trained_for and dimensions < self.full

    def __str__(self) -> str:
        if self.is_trained_for_all and not self.trained_for:
            return f"1 to {self.full}"
        return ", ".join(map(str, sorted({self.full, *self.trained_for})))


class Embedder(Protocol):
    """What a replica asks of a model; `encode` is called by one thread at a time."""

    context_window: int
    lengths: Lengths

    def tokens(self, texts: Sequence[str], *, add_special_tokens: bool = True) -> list[Encoding]:
        """Returns each text's tokens, however many; any thread may ask."""

    def text(self, ids: Sequence[int]) -> str:
        """Returns the text of token ids."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Returns an array of shape (texts, full length)."""


class SentenceModel:
    """A model in a folder as sentence-transformers writes it."""

    def __init__(
        self, model: Any, tokenizer: Tokenizer, context_window: int, lengths: Lengths
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        self.context_window, self.lengths = context_window, lengths

    @classmethod
    def load(cls, source: str | None, device: str, context_window: int) -> "SentenceModel":
        """Loads the model of a folder, or the installed all-MiniLM-L6-v2.

        Raises `BadEmbeddingModel` or the router's `EncoderMissing`. Imports torch: seconds.
        """
        folder = Path(source) if source else minilm_folder()
        for name in ("modules.json", "tokenizer.json", "config.json"):
            if not (folder / name).is_file():
                raise BadEmbeddingModel(str(folder), f"has no {name}: name another folder")
        config = json.loads((folder / "config.json").read_text())
        positions = config.get("max_position_embeddings")
        if positions is not None and context_window > positions:
            problem = f"knows {positions} positions: make context_window at most that"
            raise BadEmbeddingModel(str(folder), problem)
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - seconds

        model = SentenceTransformer(str(folder), device=device, local_files_only=True)
        model.max_seq_length = context_window
        # One of its own: the model sets its tokenizer's padding and truncation in another thread.
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        full = model.get_embedding_dimension()
        return cls(model, tokenizer, context_window, _lengths(full or 0, config))

    def tokens(self, texts: Sequence[str], *, add_special_tokens: bool = True) -> list[Encoding]:
        """Returns each text's tokens, however many; any thread may ask."""
        return self._tokenizer.encode_batch(list(texts), add_special_tokens=add_special_tokens)

    def text(self, ids: Sequence[int]) -> str:
        """Returns the text of token ids."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=False)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Returns an array of shape (texts, full length)."""
        vectors: Vectors = self._model.encode(
            list(texts), batch_size=len(texts), show_progress_bar=False
        )
        return vectors


def _lengths(full: int, config: dict[str, Any]) -> Lengths:
    """Reads what vLLM reads, too: `is_matryoshka` and `matryoshka_dimensions`."""
    trained_for = tuple(config.get("matryoshka_dimensions") or ())
    return Lengths(full, bool(config.get("is_matryoshka")), trained_for)


def shortened(vectors: Vectors, dimensions: int) -> Vectors:
    """Returns vectors cut off after so many numbers, of length 1 again."""
    cut = vectors[:, :dimensions]
    norms = np.linalg.norm(cut, axis=1, keepdims=True)
    scaled: Vectors = np.divide(cut, norms, out=np.zeros_like(cut), where=norms > 0)
    return scaled
