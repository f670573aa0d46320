"""The trained router: a text's difficulty and output length."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, tanh
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from turnout_router import artifact as artifacts
from turnout_router.artifact import SHIPPED, Artifact
from turnout_router.encoders import Encoder, load_encoder
from turnout_router.errors import EncoderChanged
from turnout_router.features import LEXICAL, features
from turnout_router.text import bounded

PROBE = "A probe text: 2 trains leave at 8:15; is the sky blue?"
CLIP = 3.0  # standard deviations: beyond the training data, features stop counting further


@dataclass(frozen=True)
class Length:
    """Predicted output tokens: the median and the length that 9 of 10 answers stay under."""

    p50: int
    p90: int


@dataclass(frozen=True)
class Estimate:
    """What the router makes of a text: P(the smaller model's answer is good enough), and length."""

    difficulty: float
    length: Length


class Router:
    """Judges texts with an encoder and the linear models of an artifact."""

    def __init__(self, encoder: Encoder, artifact: Artifact) -> None:
        self.encoder = encoder
        self.artifact = artifact
        arrays = artifact.arrays
        self._weights = np.stack([arrays["difficulty_weights"], arrays["length_weights"]], axis=1)
        self._intercepts = np.array(
            [float(arrays[f"{name}_intercept"]) for name in ("difficulty", "length")]
        )
        self._spread = exp(float(arrays["length_spread"]))

    @classmethod
    def load(
        cls, encoder: str = "static", folder: Path = SHIPPED, encoder_path: Path | None = None
    ) -> "Router":
        """Loads a trained artifact (the shipped one by default) and its encoder.

        `encoder_path` is a folder with MiniLM's files, where its distribution is not installed.
        Raises an ArtifactError, EncoderMissing or EncoderChanged.
        """
        artifact = artifacts.load(encoder, folder)
        loaded = load_encoder(encoder, encoder_path)
        if not np.allclose(loaded.encode([PROBE])[0], artifact.arrays["probe"], atol=1e-3):
            raise EncoderChanged(encoder, str(folder))
        return cls(loaded, artifact)

    def difficulty(self, text: str) -> float:
        """Returns the calibrated P(the smaller model's answer is good enough)."""
        return self.estimate(text).difficulty

    def length(self, text: str) -> Length:
        """Returns the predicted output tokens."""
        return self.estimate(text).length

    def estimate(self, text: str) -> Estimate:
        """Returns difficulty and length from one pass over the text, bounded by text.MAX_BYTES."""
        return self.estimates([text])[0]

    def estimates(self, texts: Sequence[str]) -> list[Estimate]:
        """Returns an estimate for each text."""
        return [self._estimated(row) for row in self._rows(texts)]

    def _estimated(self, row: NDArray[np.float64]) -> Estimate:
        logit, log_median = (row @ self._weights + self._intercepts).tolist()
        median = exp(log_median)
        length = Length(max(1, round(median)), max(1, round(median * self._spread)))
        return Estimate(_sigmoid(logit), length)

    def pulls(self, text: str) -> dict[str, float]:
        """Returns what pulls the difficulty's log-odds up (easier) or down, largest first.

        `topic` is the embedding's pull, the others are the lexical features'; they and the
        training data's average add up to the log-odds.
        """
        pulls = self._rows([text])[0] * self.artifact.arrays["difficulty_weights"]
        named = {"topic": float(pulls[: -len(LEXICAL)].sum())}
        named |= dict(zip(LEXICAL, pulls[-len(LEXICAL) :].tolist(), strict=True))
        return dict(sorted(named.items(), key=lambda pull: -abs(pull[1])))

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float64]:
        rows = features([bounded(text) for text in texts], self.encoder)
        return standardised(rows, self.artifact.arrays["mean"], self.artifact.arrays["scale"])


def standardised(
    rows: NDArray[np.float64], mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns rows in standard deviations of the training data, clipped to CLIP.

    The clip keeps a text unlike the training data (another script, a wall of digits) from being
    extrapolated to a certainty that nothing supports.
    """
    return clipped((rows - mean) / scale)


def clipped(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns standardised rows within CLIP standard deviations."""
    within: NDArray[np.float64] = np.minimum(np.maximum(rows, -CLIP), CLIP)
    return within


def _sigmoid(logit: float) -> float:
    return 0.5 * (1.0 + tanh(logit / 2))
