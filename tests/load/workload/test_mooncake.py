from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from turnout_load.workload.mooncake import read
from turnout_load.workload.source import Source
from turnout_load.workload.text import Prose


def row(timestamp: float, tokens: int, hash_ids: list[int], output: int = 5) -> str:
    return json.dumps(
        {
            "timestamp": timestamp,
            "input_length": tokens,
            "output_length": output,
            "hash_ids": hash_ids,
        }
    )


def words(source: Source, index: int) -> list[str]:
    (turn,) = source.dataset.conversation(index).turns
    text: str = turn.messages[0]["content"]
    return text.split(" ")


def test_equal_hash_ids_are_equal_blocks_of_512_tokens(write: Callable[..., str]) -> None:
    rows = [row(0, 1200, [0, 1, 2]), row(0, 1100, [0, 1, 3]), row(0, 1024, [4, 1])]
    source = read(write("mooncake.jsonl", *rows), Prose(), 1)
    first, second, third = (words(source, index) for index in range(3))
    assert [len(first), len(second), len(third)] == [1200, 1100, 1024]
    assert first[:1024] == second[:1024]
    assert first[1024:1040] != second[1024:1040]
    assert third[512:] == first[512:1024]
    assert third[:16] != first[:16]


@pytest.mark.parametrize("tokens", [513, 514, 515, 1023])
def test_a_partial_block_is_the_beginning_of_the_whole_one(
    write: Callable[..., str], tokens: int
) -> None:
    rows = [row(0, tokens, [0, 1]), row(0, 1024, [0, 1])]
    source = read(write("mooncake.jsonl", *rows), Prose(), 1)
    assert words(source, 0) == words(source, 1)[:tokens]


def test_another_seed_makes_other_blocks(write: Callable[..., str]) -> None:
    path = write("mooncake.jsonl", row(0, 512, [0]))
    assert words(read(path, Prose(), 1), 0)[:16] != words(read(path, Prose(), 2), 0)[:16]


def test_times_are_milliseconds_from_the_first_row(write: Callable[..., str]) -> None:
    rows = [row(3000, 1, [1], output=9), row(3500.5, 2, [2], output=8)]
    source = read(write("mooncake.jsonl", *rows), Prose(), 1)
    assert list(source.offsets_ns or ()) == [0, 500_500_000]
    assert [len(words(source, index)) for index in range(2)] == [1, 2]
    turns = [source.dataset.conversation(index).turns[0] for index in range(2)]
    assert [turn.max_tokens for turn in turns] == [9, 8]


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ('{"timestamp": 1', "Input data was truncated"),
        ('{"timestamp": 1}', "Object missing required field `input_length`"),
        (row(1, 0, []), "Expected `int` >= 1 - at `$.input_length`"),
        (row(1, 513, [1]), "513 tokens are 2 blocks of 512, but it has 1 hash_ids"),
        (row(1, 5, [2**64]), "Expected `int` <= 9223372036854775807"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_replayed(
    write: Callable[..., str], broken: str, problem: str
) -> None:
    path = write("mooncake.jsonl", row(0, 5, [1]), broken)
    source = read(path, Prose(), 1)
    (named,) = source.problems
    assert str(named).startswith(f"{path}:2: {problem}")
    assert source.size == 1
