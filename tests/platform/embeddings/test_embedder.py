"""The packaged model, and folders that hold none."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from turnout.embeddings.embedder import BadEmbeddingModel, Lengths, SentenceModel, shortened
from turnout_router.encoders import minilm_folder


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


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadEmbeddingModel, match=r"has no modules\.json"):
        SentenceModel.load(str(tmp_path), "cpu", 256)


def test_a_window_beyond_the_models_positions_is_refused() -> None:
    with pytest.raises(BadEmbeddingModel, match="knows 512 positions"):
        SentenceModel.load(None, "cpu", 513)


@pytest.mark.slow
def test_the_packaged_model_gives_what_sentence_transformers_gives(tmp_path: Path) -> None:
    """In a process of its own: sentence-transformers' import warns and takes seconds."""
    folder = tmp_path / "nested"
    shutil.copytree(minilm_folder(), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "matryoshka_dimensions": [64]}))
    script = """
import json, sys, warnings; warnings.simplefilter("ignore")
from sentence_transformers import SentenceTransformer
from turnout.embeddings.embedder import SentenceModel
from turnout_router.encoders import minilm_folder
ours, theirs = SentenceModel.load(None, "cpu", 256), SentenceTransformer(str(minilm_folder()))
texts = ["What is the capital of France?", "你好 😀", "", "word " * 250]
distance = abs(ours.encode(texts) - theirs.encode(texts)).max()
counts = [len(each.ids) for each in ours.tokens([*texts, "word " * 400])]
(ids,) = ours.tokens(["Hello, world!"])
nested = SentenceModel.load(sys.argv[1], "cpu", 256).lengths
print("RESULT" + json.dumps([
    float(distance), counts, ids.ids, ours.text(ids.ids), str(ours.lengths), str(nested),
]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], check=True, capture_output=True, text=True
    )
    distance, counts, ids, text, lengths, nested = json.loads(done.stdout.split("RESULT")[1])
    assert distance < 1e-5
    assert counts == [9, 5, 2, 252, 402]
    # bert-base-uncased's vocabulary: [CLS] hello , world ! [SEP]
    assert ids == [101, 7592, 1010, 2088, 999, 102]
    assert text == "[CLS] hello, world! [SEP]"
    assert (lengths, nested) == ("384", "64, 384")
