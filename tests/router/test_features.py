import math

import numpy as np
import pytest

from turnout_router.encoders import StaticEncoder
from turnout_router.features import LEXICAL, features, lexical


def test_lexical_features_are_counts_a_reader_can_check() -> None:
    values = dict(zip(LEXICAL, lexical("Add 12 + 3.5!\nOK é?"), strict=True))
    assert values == pytest.approx(
        {
            "log_characters": math.log(20),  # 19 characters and one
            "log_words": math.log(7),  # Add 12 + 3.5! OK é?
            "log_digits": math.log(5),  # 1 2 3 5
            "digit_share": 4 / 19,
            "symbol_share": 1 / 19,  # +
            "log_numbers": math.log(3),  # 12 and 3.5
            "question_marks": 1,
            "several_lines": 1,
            "capital_share": 3 / 19,  # A O K
            "word_length": 14 / 6,
            "other_script_share": 1 / 19,  # é
        }
    )


def test_an_empty_text_has_no_features() -> None:
    assert lexical("") == [0] * len(LEXICAL)


def test_embeddings_have_unit_length_before_the_lexical_features() -> None:
    rows = features(["one", "one two three " * 20, ""], StaticEncoder.load())
    assert rows.shape == (3, 256 + len(LEXICAL))
    assert np.linalg.norm(rows[:, :256], axis=1) == pytest.approx([1, 1, 0])
