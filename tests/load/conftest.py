"""The mock in a process of its own, and a tokenizer, shared by every test that needs one."""

from collections.abc import Iterator

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings
from turnout_load.workload.words import WORDS


@pytest.fixture(scope="session")
def mock() -> Iterator[str]:
    """The base URL of a mock whose first token takes 20 ms and every other one 2 ms."""
    with started(MockSettings(ttft_ms=20, itl_ms=2, tokens=8)) as address:
        yield f"{address}/v1"


@pytest.fixture(scope="session")
def by_word(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a tokenizer whose every word is one token, as the mock counts them."""
    vocabulary = {word: number for number, word in enumerate(("?", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocab=vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    path = str(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")
    tokenizer.save(path)
    return path
