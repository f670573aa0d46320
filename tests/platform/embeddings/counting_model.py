"""A fake embedding model: what it gives and what it was asked can be told by hand."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from turnout.embeddings.embedder import Ids, Lengths, Vectors

VOCABULARY = {"[CLS]": 0, "[SEP]": 1, "?": 2, "red": 3, "green": 4, "blue": 5}


class CountingModel:
    """A text's vector is (3, 4, its number of ids, their sum); `gate` holds computing up."""

    context_window = 8
    lengths = Lengths(4)

    def __init__(self) -> None:
        self.batches: list[list[Ids]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.fails_on: Ids | None = None
        self._tokenizer = Tokenizer(WordLevel(VOCABULARY, unk_token="?"))
        self._tokenizer.pre_tokenizer = Whitespace()
        special = [(name, VOCABULARY[name]) for name in ("[CLS]", "[SEP]")]
        self._tokenizer.post_processor = TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=special
        )

    def tokens(self, texts: Sequence[str], *, add_special_tokens: bool = True) -> list[Encoding]:
        return self._tokenizer.encode_batch(list(texts), add_special_tokens=add_special_tokens)

    def text(self, ids: Ids) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=False)

    def encode(self, texts: Sequence[Ids]) -> Vectors:
        self.batches.append(list(texts))
        assert self.gate.wait(timeout=10)
        if self.fails_on in texts:
            raise RuntimeError("out of memory")
        rows = [(3, 4, len(text), sum(text)) for text in texts]
        return np.array(rows, dtype=np.float32)
