"""Which answers are kept, and how their tokens are counted."""

import json
from typing import Any

import pytest
from tokenizers import Tokenizer, models, processors

from turnout_load.errors import BadData
from turnout_load.metrics.usage import Lengths
from turnout_load.record import UNKNOWN, Record
from turnout_load.run.sample import MOST, MOST_BYTES, Kept, Sample, lengths
from turnout_load.spec import Spec, Target, Workload
from turnout_load.workload.text import load_tokenizer

TARGET = Target(url="http://127.0.0.1:1/v1", model="m")
CHECKED = Spec(target=TARGET, workload=Workload(tokenizer="tokenizer.json"), warm_up_s=1.0)
WELL = Record(0, intended_ns=1_000_000_000, input_tokens=3, output_tokens=2)
FAILED = Record(0, intended_ns=1_000_000_000, error="closed")


def kept_of(spec: Spec, records: list[Record], text: str = "of it") -> int:
    """Says how many are kept when one ends before the next is sent."""
    sample = Sample(spec)
    for record in records:
        if sample.takes(record):
            sample.add(record, b"", text)
    return len(sample.kept)


def test_the_first_answers_are_kept_and_no_more_than_256() -> None:
    sample = Sample(CHECKED)
    taken = [sample.takes(WELL) for _ in range(300)]
    assert taken == [True] * 256 + [False] * 44
    assert kept_of(CHECKED, [WELL] * 300) == MOST


def test_failures_and_the_warm_up_take_no_place() -> None:
    early = Record(0, intended_ns=999_999_999)
    assert kept_of(CHECKED, [early] * 5 + [FAILED] * 300 + [WELL] * 7) == 7


def test_nothing_is_kept_without_a_tokenizer() -> None:
    assert kept_of(Spec(target=TARGET), [WELL] * 3) == 0


def test_texts_are_kept_up_to_16_mib() -> None:
    assert kept_of(CHECKED, [WELL] * 20, "x" * 2**20) == MOST_BYTES // 2**20 == 16


def chat(text: str | None = "two words", **body: Any) -> Kept:
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why is it"}]
    body = {"messages": messages} | body
    return Kept(b"POST / HTTP/1.1\r\n\r\n" + json.dumps(body).encode(), text, 9, 4)


def of_user(**message: Any) -> list[dict[str, Any]]:
    return [{"role": "user", **message}]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (chat(), Lengths(output=((4, 2),), prompt=((9, 5),))),
        (chat(None), Lengths(prompt=((9, 5),))),
        (chat(tools=[{"type": "function"}]), Lengths(output=((4, 2),))),
        (chat(messages=of_user(content=None, tool_calls=[{}])), Lengths(output=((4, 2),))),
        (chat(messages=of_user(content=[{"type": "image_url"}])), Lengths(output=((4, 2),))),
        (
            chat(messages=of_user(content=[{"type": "text", "text": "only one"}])),
            Lengths(output=((4, 2),), prompt=((9, 2),)),
        ),
        (Kept(chat().payload, "x", UNKNOWN, UNKNOWN), Lengths()),
    ],
)
def test_answers_and_prompts_are_counted_where_they_are_text_alone(
    by_word: str, kept: Kept, expected: Lengths
) -> None:
    assert lengths([kept], by_word, load_tokenizer(by_word)) == expected


def test_a_plain_prompt_has_the_tokens_that_a_server_puts_before_it(by_word: str) -> None:
    tokenizer = load_tokenizer(by_word)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="the $A", special_tokens=[("the", tokenizer.token_to_id("the"))]
    )
    found = lengths([chat(prompt="of the world")], by_word, tokenizer)
    assert found == Lengths(output=((4, 2),), prompt=((9, 4),))


def test_a_tokenizer_that_knows_no_such_word_is_named(by_word: str) -> None:
    closed = Tokenizer(models.WordLevel(vocab={"the": 0}))
    with pytest.raises(BadData, match="cannot count a text's tokens"):
        lengths([chat()], by_word, closed)
