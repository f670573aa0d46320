"""Answers wait for one another as in an engine: worked examples, in milliseconds."""

from __future__ import annotations

import json

import httpx
import msgspec
import pytest

from turnout_load.mock.ask import Ask, Message
from turnout_load.mock.engine import Engine, PrefixCache
from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings

MS = 1_000_000
WORDS = [f"w{number}" for number in range(64)]


def ask(words: int, tokens: int = 1) -> Ask:
    return Ask("m", prompt=" ".join(WORDS[:words]), max_tokens=tokens)


def ttfts(engine: Engine, *arrivals: tuple[float, Ask]) -> list[float]:
    return [round(engine.admit(each, round(at * MS)).ttft_ms, 6) for at, each in arrivals]


def test_without_places_reading_or_cache_every_answer_takes_the_time_that_is_set() -> None:
    settings = MockSettings(ttft_ms=50, cached_share=0.5)
    assert Engine(settings).admit(ask(10), 0) is settings


def test_prompts_are_read_one_after_the_other() -> None:
    engine = Engine(MockSettings(ttft_ms=5, prefill_ms_per_token=2))
    # 10 words take 20 ms; the second waits for 10 of them, the third comes to an idle engine
    assert ttfts(engine, (0, ask(10)), (10, ask(10)), (100, ask(1))) == [25, 35, 7]


def test_an_answer_waits_until_one_of_the_places_is_free() -> None:
    engine = Engine(MockSettings(ttft_ms=10, itl_ms=5, places=2))
    long, short = ask(1, tokens=19), ask(1, tokens=3)  # 10 + 18 x 5 = 100 ms, and 20 ms
    got = ttfts(engine, (0, long), (0, short), (0, short), (0, short), (200, short))
    # places are free at 20 ms, when the first short one ends, and at 40 ms
    assert got == [10, 10, 30, 50, 10]


def test_words_that_are_in_the_cache_are_not_read_again() -> None:
    engine = Engine(MockSettings(ttft_ms=0, prefill_ms_per_token=1, cache_tokens=1000))
    assert ttfts(engine, (0, ask(40)), (100, ask(40)), (200, ask(20)), (300, ask(64))) == [
        40,
        8,  # two whole blocks of 16 are kept
        4,
        32,
    ]


def test_only_whole_blocks_with_all_before_them_are_kept_and_never_the_last_word() -> None:
    cache = PrefixCache(1000)
    assert cache.take_in(WORDS[:32]) == 0
    assert cache.take_in(WORDS[:32]) == 31
    assert cache.take_in(WORDS[:31]) == 16
    assert cache.take_in(WORDS[16:48]) == 0


def test_the_least_recently_used_prompts_go_first_and_their_ends_before_their_beginnings() -> None:
    cache = PrefixCache(48)
    cache.take_in(WORDS[:32])
    cache.take_in(WORDS[32:64])  # four blocks: one too many
    assert cache.take_in(WORDS[:32]) == 16


def test_a_cache_of_nothing_keeps_nothing() -> None:
    cache = PrefixCache(15)
    assert [cache.take_in(WORDS[:32]) for _ in range(2)] == [0, 0]


def test_messages_are_one_prompt_in_their_order() -> None:
    messages = [Message("a b"), Message([{"type": "text", "text": "c"}]), Message(None)]
    assert Ask("m", messages=messages).words == ["a", "b", "c"]


@pytest.mark.parametrize("field", ["places", "prefill_ms_per_token", "cache_tokens"])
def test_amounts_below_nothing_are_refused(field: str) -> None:
    with pytest.raises(Exception, match="0 or more"):
        msgspec.structs.replace(MockSettings(), **{field: -1})


def test_usage_tells_what_was_in_the_cache() -> None:
    settings = MockSettings(ttft_ms=0, itl_ms=0, cache_tokens=1000)
    body = {"model": "m", "prompt": " ".join(WORDS[:49]), "max_tokens": 1}
    with started(settings) as address, httpx.Client(trust_env=False, timeout=30) as client:
        told = [
            json.loads(client.post(f"{address}/v1/completions", json=body).content)["usage"]
            for _ in range(2)
        ]
    assert [each["prompt_tokens_details"]["cached_tokens"] for each in told] == [0, 48]
