"""Prompts and a tokenizer for tools that want files of them: no model hub is asked."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

PROMPT_WORDS = 32
WORDS = (
    *("the", "a", "one", "old", "new", "small", "large", "early", "late", "quiet", "busy"),
    *("train", "track", "line", "turnout", "signal", "bridge", "station", "river", "field"),
    *("town", "winter", "summer", "morning", "evening", "driver", "guard", "letter", "lamp"),
    *("takes", "leaves", "follows", "crosses", "waits", "under", "over", "along", "before"),
)


def write_prompts(path: Path, count: int, seed: int) -> None:
    """Writes JSONL of `{"text": …}`, each of `PROMPT_WORDS` words."""
    chance = random.Random(seed)
    lines = (
        json.dumps({"text": " ".join(chance.choices(WORDS, k=PROMPT_WORDS))}) for _ in range(count)
    )
    path.write_text("".join(f"{line}\n" for line in lines))


def write_tokenizer(folder: Path) -> None:
    """Writes a tokenizer whose tokens are words, as transformers' `AutoTokenizer` reads it."""
    folder.mkdir(exist_ok=True)
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *WORDS])}
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
