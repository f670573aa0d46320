"""A sentence-transformers model in a folder, run without that library (`bert.py`).

Importing this module imports torch: seconds.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Encoding, Tokenizer

from turnout.embeddings.bert import Bert
from turnout.embeddings.embedder import BadEmbeddingModel, Ids, Lengths, Vectors
from turnout_router.encoders import minilm_folder

TOKENS_AT_ONCE = 2048
"""Padding included: what more would be computed at once takes memory and is no faster on a CPU."""
_NEEDED = ("modules.json", "config.json", "tokenizer.json", "model.safetensors")
_MODULES = ("Transformer", "Pooling", "Normalize")


class SentenceModel:
    """A BERT with its tokenizer."""

    def __init__(
        self,
        bert: Bert,
        tokenizer: Tokenizer,
        device: str,
        context_window: int,
        lengths: Lengths,
    ) -> None:
        self._bert, self._tokenizer, self._device = bert, tokenizer, device
        self.context_window, self.lengths = context_window, lengths

    @classmethod
    def load(cls, source: str | None, device: str, context_window: int) -> "SentenceModel":
        """Loads the model of a folder, or the installed all-MiniLM-L6-v2.

        Raises `BadEmbeddingModel` or the router's `EncoderMissing`.
        """
        folder = Path(source) if source else minilm_folder()
        for name in _NEEDED:
            if not (folder / name).is_file():
                raise BadEmbeddingModel(str(folder), f"has no {name}: name another folder")
        config = _read(folder / "config.json")
        _check(folder, config, context_window)
        modules = _modules(folder)
        pooling = _pooling(folder, modules["Pooling"])
        weights = load_file(folder / "model.safetensors", device=device)
        weights = {name.removeprefix("bert."): each.float() for name, each in weights.items()}
        bert = Bert(weights, config, pooling, normalizes="Normalize" in modules)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(bert, tokenizer, device, context_window, _lengths(config))

    def tokens(self, texts: Sequence[str], *, add_special_tokens: bool = True) -> list[Encoding]:
        """Returns each text's tokens, however many; any thread may ask."""
        return self._tokenizer.encode_batch(list(texts), add_special_tokens=add_special_tokens)

    def text(self, ids: Ids) -> str:
        """Returns the text of token ids."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=False)

    def encode(self, texts: Sequence[Ids]) -> Vectors:
        """Returns an array of shape (texts, full length)."""
        vectors = np.empty((len(texts), self.lengths.full), dtype=np.float32)
        for places in _alike([len(each) for each in texts]):
            vectors[places] = self._vectors([texts[place] for place in places])
        return vectors

    def _vectors(self, texts: Sequence[Ids]) -> Vectors:
        longest = max(map(len, texts))
        ids = torch.zeros((len(texts), longest), dtype=torch.long)
        mask = torch.zeros((len(texts), longest), dtype=torch.bool)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = torch.tensor(text)
            mask[row, : len(text)] = True
        with torch.inference_mode():
            vectors: Vectors = self._bert(ids.to(self._device), mask.to(self._device)).cpu().numpy()
        return vectors


def _alike(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yields the places of texts to be computed at once: of like lengths, not too many tokens."""
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and (len(group) + 1) * lengths[place] > TOKENS_AT_ONCE:
            yield group
            group = []
        group.append(place)
    yield group


def _check(folder: Path, config: dict[str, Any], context_window: int) -> None:
    architectures = config.get("architectures")
    if architectures != ["BertModel"] or config.get("hidden_act") != "gelu":
        problem = f"is {architectures}: only BertModel with gelu runs here; give others to vLLM"
        raise BadEmbeddingModel(str(folder), problem)
    if context_window > config["max_position_embeddings"]:
        problem = f"knows {config['max_position_embeddings']} positions: make context_window that"
        raise BadEmbeddingModel(str(folder), problem)


def _modules(folder: Path) -> dict[str, Path]:
    """Returns the folders of the model's steps by their kinds."""
    listed = _read(folder / "modules.json")
    modules = {each["type"].rpartition(".")[2]: Path(each["path"]) for each in listed}
    if other := sorted(modules.keys() - set(_MODULES)):
        raise BadEmbeddingModel(str(folder), f"has steps that do not run here: {', '.join(other)}")
    if missing := [name for name in _MODULES[:2] if name not in modules]:
        raise BadEmbeddingModel(str(folder), f"has no {' and no '.join(missing)} step")
    return modules


def _pooling(folder: Path, place: Path) -> str:
    config = _read(folder / place / "config.json")
    modes = [
        name for name, is_on in config.items() if name.startswith("pooling_") and is_on is True
    ]
    known = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    if len(modes) != 1 or modes[0] not in known:
        raise BadEmbeddingModel(str(folder), f"pools by {modes}: only mean or cls run here")
    return known[modes[0]]


def _lengths(config: dict[str, Any]) -> Lengths:
    """Reads what vLLM reads, too: `is_matryoshka` and `matryoshka_dimensions`."""
    trained_for = tuple(config.get("matryoshka_dimensions") or ())
    return Lengths(config["hidden_size"], bool(config.get("is_matryoshka")), trained_for)


def _read(path: Path) -> Any:
    return json.loads(path.read_text())
