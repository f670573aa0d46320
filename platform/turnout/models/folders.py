"""What makes a folder a complete model."""

import json
from pathlib import Path

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "tekken.json", "spiece.model")
_INDEX = "model.safetensors.index.json"


def missing_from(folder: Path) -> str | None:
    """The first thing a folder lacks to be served as a model, as a sentence; None when complete."""
    try:
        return _missing_from(folder)
    except OSError as problem:
        return f"the folder cannot be read: {problem.strerror}"


def _missing_from(folder: Path) -> str | None:
    if not folder.is_dir():
        return "there is no such folder"
    if not (folder / "config.json").is_file():
        return "the folder has no config.json"
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        return "the folder has no tokenizer"
    return _missing_weights(folder)


def _missing_weights(folder: Path) -> str | None:
    if (folder / _INDEX).is_file():
        try:
            files = set(
                json.loads((folder / _INDEX).read_text(encoding="utf-8"))["weight_map"].values()
            )
        except (ValueError, KeyError, AttributeError):
            return f"{_INDEX} cannot be read"
        absent = sorted(name for name in files if not (folder / name).is_file())
        return f"the weights {absent[0]} are missing" if absent else None
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        return "the folder has no weights (*.safetensors or *.bin)"
    return None
