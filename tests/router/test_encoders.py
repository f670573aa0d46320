import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from turnout_router import encoders
from turnout_router.encoders import MiniLmEncoder, StaticEncoder, load_encoder
from turnout_router.errors import EncoderMissing

TEXTS = ["What is the capital of France?", "2 + 2 = 4", "你好 😀", "def f(x):\n    return x"]


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
