"""The embedding pool answers OpenAI's clients with vectors that mean something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest
from langchain_openai import OpenAIEmbeddings
from pydantic import SecretStr

if TYPE_CHECKING:
    from tests.e2e.conftest import System

MODEL = "all-minilm-l6-v2"
TEXTS = ["The cat sat on the mat.", "A feline rested on a rug.", "Stock prices fell sharply."]


def likeness(one: list[float], other: list[float]) -> float:
    """Returns the cosine of two vectors of length one."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_texts_of_like_meaning_have_like_vectors(client: Any) -> None:
    answer = client.embeddings.create(model=MODEL, input=TEXTS)
    cat, feline, stocks = (each.embedding for each in answer.data)
    assert len(cat) == 384
    assert likeness(cat, cat) == pytest.approx(1, abs=1e-5)
    assert likeness(cat, feline) > 0.5
    assert likeness(cat, stocks) < 0.2
    # [CLS], [SEP] and the words and full stops of bert-base-uncased
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == 9 + 10 + 7


def test_a_vector_is_the_same_in_every_company_and_format(client: Any) -> None:
    (alone,) = client.embeddings.create(model=MODEL, input=TEXTS[0]).data  # base64, unseen
    long = [TEXTS[0], *(f"{TEXTS[2]} " * n for n in range(1, 30))]
    among = client.embeddings.create(model=MODEL, input=long, encoding_format="float").data[0]
    assert among.embedding == pytest.approx(alone.embedding, abs=1e-5)


def test_many_clients_at_once_get_their_own(client: Any) -> None:
    first, second = (
        client.embeddings.create(model=MODEL, input=[f"number {n}" for n in numbers]).data
        for numbers in (range(100), range(99, -1, -1))
    )
    for one, other in zip(first, reversed(second), strict=True):
        assert one.embedding == pytest.approx(other.embedding, abs=1e-5)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"input": "word " * 300}, "maximum context length is 256 tokens"),
        ({"dimensions": 128}, "vectors of 384 numbers"),
        ({"model": "auto"}, "name one model"),
        ({"model": "small"}, "'small' is not for embeddings"),
        ({"input": [101, 102]}, "send text"),
    ],
)
def test_what_it_cannot_do_is_said(client: Any, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(openai.BadRequestError, match=words):
        client.embeddings.create(**{"model": MODEL, "input": "x", **fields})


def test_it_does_not_chat(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match=r"only for embeddings; .*: small, large"):
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "hi"}])


def test_its_tokenizer_answers(system: System) -> None:
    ask = {"model": MODEL, "prompt": "Hello, world!"}
    told = system.http.post(f"{system.url}/tokenize", json=ask, timeout=30).json()
    assert told["tokens"] == [101, 7592, 1010, 2088, 999, 102]


def test_langchain_embeds_documents_and_questions(system: System) -> None:
    embeddings = OpenAIEmbeddings(
        model=MODEL,
        openai_api_key=SecretStr(system.key),
        openai_api_base=f"{system.url}/v1",
        check_embedding_ctx_length=False,
    )
    documents, question = embeddings.embed_documents(TEXTS), embeddings.embed_query("a cat")
    scores = [likeness(question, each) for each in documents]
    assert max(scores) in scores[:2]
