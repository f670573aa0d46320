"""What a replica asks of an embedding model. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from turnout.errors import TurnoutError

Vectors = NDArray[np.float32]
Ids = Sequence[int]


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
    """Texts to tokens, tokens to vectors; `encode` is called by one thread at a time."""

    context_window: int
    lengths: Lengths

    def tokens(self, texts: Sequence[str], *, add_special_tokens: bool = True) -> list[Encoding]:
        """Returns each text's tokens, however many; any thread may ask."""

    def text(self, ids: Ids) -> str:
        """Returns the text of token ids."""

    def encode(self, texts: Sequence[Ids]) -> Vectors:
        """Returns an array of shape (texts, full length)."""


def shortened(vectors: Vectors, dimensions: int) -> Vectors:
    """Returns vectors cut off after so many numbers, of length 1 again."""
    cut = vectors[:, :dimensions]
    norms = np.linalg.norm(cut, axis=1, keepdims=True)
    scaled: Vectors = np.divide(cut, norms, out=np.zeros_like(cut), where=norms > 0)
    return scaled
