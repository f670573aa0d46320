"""The packaged model gives what sentence-transformers gives; other folders are refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnout.embeddings.embedder import BadEmbeddingModel
from turnout.embeddings.sentence_model import SentenceModel
from turnout_router.encoders import minilm_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the packaged model whose weights are the original's."""
    copy = tmp_path / "model"
    shutil.copytree(minilm_folder(), copy, ignore=shutil.ignore_patterns("*.safetensors"))
    (copy / "model.safetensors").symlink_to(minilm_folder() / "model.safetensors")
    return copy


def change(file: Path, edit: Callable[[Any], Any]) -> None:
    file.write_text(json.dumps(edit(json.loads(file.read_text()))))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadEmbeddingModel, match=r"has no modules\.json"):
        SentenceModel.load(str(tmp_path), "cpu", 256)


def test_a_window_beyond_the_models_positions_is_refused() -> None:
    with pytest.raises(BadEmbeddingModel, match="knows 512 positions"):
        SentenceModel.load(None, "cpu", 513)


@pytest.mark.parametrize(
    ("file", "edit", "match"),
    [
        ("config.json", lambda c: {**c, "architectures": ["MPNetModel"]}, "MPNetModel.*to vLLM"),
        ("config.json", lambda c: {**c, "hidden_act": "relu"}, "only BertModel with gelu"),
        (
            "modules.json",
            lambda m: [*m, {"type": "sentence_transformers.models.Dense", "path": "3_Dense"}],
            "steps that do not run here: Dense",
        ),
        ("modules.json", lambda m: m[:1], "no Pooling step"),
        ("1_Pooling/config.json", lambda p: {**p, "pooling_mode_max_tokens": True}, "only mean"),
        ("1_Pooling/config.json", lambda p: {"pooling_mode_lasttoken": True}, "lasttoken"),
    ],
)
def test_what_would_give_other_vectors_is_refused(
    folder: Path, file: str, edit: Callable[[Any], Any], match: str
) -> None:
    change(folder / file, edit)
    with pytest.raises(BadEmbeddingModel, match=match):
        SentenceModel.load(str(folder), "cpu", 256)


def test_a_models_own_word_on_shorter_vectors_is_taken(folder: Path) -> None:
    change(folder / "config.json", lambda c: {**c, "matryoshka_dimensions": [64]})
    assert str(SentenceModel.load(str(folder), "cpu", 256).lengths) == "64, 384"
    assert str(SentenceModel.load(None, "cpu", 256).lengths) == "384"


def test_texts_are_cut_and_put_together_as_berts_vocabulary_has_them() -> None:
    model = SentenceModel.load(None, "cpu", 256)
    (encoded,) = model.tokens(["Hello, world!"])
    # bert-base-uncased: [CLS] hello , world ! [SEP]
    assert encoded.ids == [101, 7592, 1010, 2088, 999, 102]
    assert model.text(encoded.ids) == "[CLS] hello, world! [SEP]"
    assert [len(each.ids) for each in model.tokens(["", "word " * 400])] == [2, 402]


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_vectors_are_those_of_sentence_transformers(folder: Path, pooling: str) -> None:
    """In a process of its own: sentence-transformers' import warns and takes seconds."""
    modes = {
        f"pooling_mode_{mode}": mode.startswith(pooling) for mode in ("mean_tokens", "cls_token")
    }
    change(folder / "1_Pooling" / "config.json", lambda p: {**p, **modes})
    script = """
import sys, warnings; warnings.simplefilter("ignore")
from sentence_transformers import SentenceTransformer
from turnout.embeddings.sentence_model import SentenceModel
ours = SentenceModel.load(sys.argv[1], "cpu", 256)
theirs = SentenceTransformer(sys.argv[1], device="cpu", local_files_only=True)
texts = ["What is the capital of France?", "你好 😀", "", *("word " * n for n in range(0, 250, 40))]
vectors = ours.encode([each.ids for each in ours.tokens(texts)])
print("RESULT", vectors.shape, abs(vectors - theirs.encode(texts)).max() < 1e-5)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], check=True, capture_output=True, text=True
    )
    assert done.stdout.split("RESULT")[1].strip() == "(10, 384) True"
