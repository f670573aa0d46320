from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from turnout_load.errors import BadData, BadOption
from turnout_load.workload.text import Prose
from turnout_load.workload.words import WORDS


@pytest.fixture
def by_byte(tmp_path: Path) -> str:
    """A tokenizer of one token for each byte, that cuts texts after 8 tokens."""
    vocabulary = {letter: i for i, letter in enumerate(pre_tokenizers.ByteLevel.alphabet())}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.enable_truncation(8)
    return saved(tokenizer, tmp_path)


@pytest.fixture
def half_of_the_words(tmp_path: Path) -> str:
    """A tokenizer that knows every second word as one token, and all else by the letter."""
    whole = {word: 100 + i for i, word in enumerate(WORDS[::2])}
    letters = {chr(97 + i): i for i in range(26)}
    letters |= {f"##{letter}": 50 + i for letter, i in letters.items()}
    tokenizer = Tokenizer(models.WordPiece(vocab={**letters, **whole, "?": 99}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return saved(tokenizer, tmp_path)


def saved(tokenizer: Any, folder: Path) -> str:
    path = str(folder / "tokenizer.json")
    tokenizer.save(path)
    return path


def counted(path: str, text: str) -> int:
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    return len(tokenizer.encode(text).ids)


@pytest.mark.parametrize("tokens", [1, 2, 3, 1000])
def test_a_text_has_as_many_words_as_tokens_are_wanted(tokens: int) -> None:
    assert len(Prose().text(Random(1), tokens).split(" ")) == tokens


def test_there_is_a_word_for_every_byte() -> None:
    assert len(set(WORDS)) == 256


def test_every_word_is_one_token_of_a_common_tokenizer() -> None:
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    folder = Path(tekken.__file__).parents[2] / "data"
    tokenizer = tekken.Tekkenizer.from_file(str(folder / "tekken_240911.json"))
    text = Prose().text(Random(1), 1000)
    assert len(tokenizer.encode(text, bos=False, eos=False)) == 1000
    assert [word for word in WORDS if len(tokenizer.encode(word, bos=False, eos=False)) > 1] == []


def test_texts_of_other_generators_do_not_begin_alike() -> None:
    beginnings = {Prose().text(Random(seed), 16) for seed in range(5_000)}
    assert len(beginnings) == 5_000


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 510, 511])
def test_fewer_words_are_the_beginning_of_more(count: int) -> None:
    more = Prose().words(Random(3), 512).split(" ")
    assert Prose().words(Random(3), count).split(" ") == more[:count]


@pytest.mark.parametrize("tokens", [1, 2, 7, 100, 333])
def test_a_tokenizer_of_bytes_counts_what_was_wanted(by_byte: str, tokens: int) -> None:
    for seed in range(20):
        text = Prose.load(by_byte).text(Random(seed), tokens)
        assert counted(by_byte, text) == tokens


def test_words_that_a_tokenizer_splits_are_not_used(half_of_the_words: str) -> None:
    text = Prose.load(half_of_the_words).text(Random(1), 500)
    assert set(text.split(" ")) <= set(WORDS[::2])
    assert counted(half_of_the_words, text) == 500


def test_a_tokenizer_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(BadData, match=r"tokenizer.json: is no tokenizer.json"):
        Prose.load(str(path))


def test_a_tokenizer_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(BadOption, match="pip install tokenizers"):
        Prose.load("tokenizer.json")
