import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout_router import encoders
from turnout_router.encoders import SPACE, MiniLmEncoder, StaticEncoder, load_encoder
from turnout_router.errors import EncoderMissing

TEXTS = ["What is the capital of France?", "2 + 2 = 4", "你好 😀", "def f(x):\n    return x"]
ENCODER = StaticEncoder.load()


@pytest.mark.slow
def test_static_vectors_equal_those_of_sentence_transformers(tmp_path: Path) -> None:
    """Theirs come from a process of its own: sentence-transformers' import warns, takes seconds."""
    script = f"""
import sys, warnings; warnings.simplefilter("ignore")
import numpy as np
from sentence_transformers.models import StaticEmbedding
from turnout_router.encoders import StaticEncoder
ours = StaticEncoder.load()
theirs = StaticEmbedding(ours.tokenizer, embedding_weights=ours.table)
vectors = theirs(theirs.tokenize({TEXTS!r}))["sentence_embedding"].detach().numpy()
np.save(sys.argv[1], vectors)
"""
    theirs = tmp_path / "theirs.npy"
    subprocess.run([sys.executable, "-c", script, str(theirs)], check=True)
    np.testing.assert_allclose(StaticEncoder.load().encode(TEXTS), np.load(theirs), atol=1e-6)


def test_loading_the_router_imports_neither_torch_nor_scikit_learn() -> None:
    script = """
import sys
from turnout_router.router import Router
Router.load()
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    loaded = set(done.stdout.split())
    heavy = {"torch", "sklearn", "transformers", "sentence_transformers", "wordllama"}
    assert "turnout_router.router" in loaded
    assert not heavy & loaded


def test_an_empty_text_is_the_zero_vector() -> None:
    assert not StaticEncoder.load().encode([""]).any()


def test_an_encoder_whose_distribution_is_absent_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoders, "STATIC_DISTRIBUTION", "not-installed-anywhere")
    with pytest.raises(EncoderMissing, match="pip install not-installed-anywhere"):
        load_encoder("static")


def test_a_minilm_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderMissing, match=r"modules\.json"):
        MiniLmEncoder.load(tmp_path)


def test_vectors_of_many_texts_are_those_of_each() -> None:
    encoder = StaticEncoder.load()
    np.testing.assert_array_equal(encoder.encode(TEXTS)[1], encoder.encode(TEXTS[1:2])[0])


PARTS = ["a", "the", "ing", " ", "   ", "\n", "é", "日本", "▁", "12", "3.14", "🙂", "<s>", "<unk"]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=40).map("".join))
def test_a_text_s_vector_is_the_mean_over_the_tokens_of_the_whole_text(text: str) -> None:
    ids = ENCODER.tokenizer.encode(text, add_special_tokens=False).ids
    expected = ENCODER.table[ids].mean(axis=0)
    np.testing.assert_allclose(ENCODER.encode([text])[0], expected, atol=1e-6)


def test_no_token_spans_the_end_of_a_word() -> None:
    spanning = [token for token in ENCODER.tokenizer.get_vocab() if SPACE in token.lstrip(SPACE)]
    assert spanning == []


def test_vectors_stay_right_when_more_words_come_than_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoders, "MOST_WORDS", 4)
    forgetful = StaticEncoder(ENCODER.tokenizer, ENCODER.table)
    texts = ["one two three", "four five", "one six", "a text of more than four words"]
    np.testing.assert_allclose(forgetful.encode(texts), ENCODER.encode(texts), atol=1e-6)
