"""Lengths of vectors, and vectors made shorter."""

import numpy as np
import pytest

from turnout.embeddings.embedder import Lengths, shortened


@pytest.mark.parametrize(
    ("lengths", "has", "has_not", "says"),
    [
        (Lengths(384), [384], [1, 383, 385], "384"),
        (Lengths(768, True), [1, 500, 768], [769], "1 to 768"),
        (Lengths(768, True, (128, 256)), [128, 256, 768], [127, 512], "128, 256, 768"),
    ],
)
def test_a_model_has_the_lengths_it_was_trained_for(
    lengths: Lengths, has: list[int], has_not: list[int], says: str
) -> None:
    assert all(map(lengths.has, has))
    assert not any(map(lengths.has, has_not))
    assert str(lengths) == says


def test_shortened_vectors_have_length_one_and_nothing_stays_nothing() -> None:
    vectors = np.array([[3, 4, 12], [0, 0, 5]], dtype=np.float32)
    assert shortened(vectors, 2).flatten().tolist() == pytest.approx([0.6, 0.8, 0, 0])
