"""Prompts that begin alike share the beginning of their chain, and nothing else."""

from __future__ import annotations

import pytest

from turnout.gateway.balance.prefix import CHARACTERS, SMALLEST_BLOCK, PrefixIndex, blocks_of

A, B, C = ("a" * SMALLEST_BLOCK, "b" * SMALLEST_BLOCK, "c" * SMALLEST_BLOCK)


def test_only_whole_blocks_count() -> None:
    assert len(blocks_of(A + B)) == 2
    assert len(blocks_of(A + B[:-1])) == 1
    assert blocks_of("short") == ()


def test_texts_share_their_beginning_and_not_equal_blocks_after_another_one() -> None:
    one, two = blocks_of(A + B + C), blocks_of(A + C + C)
    assert one[0] == two[0]
    assert one[1] != two[1]
    assert one[2] != two[2]


def test_other_teams_equal_prompts_are_another_prefix() -> None:
    assert not set(blocks_of(A + B, "search")) & set(blocks_of(A + B, "shop"))


def test_a_long_prompt_costs_a_bounded_number_of_blocks() -> None:
    assert len(blocks_of(A * 10_000)) == len(blocks_of(A * 1000)) < 30


@pytest.mark.parametrize("shared", [300, 1000, 4000, 15_000, 30_000])
def test_an_equal_beginning_is_known_to_a_fifth(shared: int) -> None:
    """Blocks grow with what lies before them, the first four aside."""
    one, two = blocks_of("x" * shared + "y" * 40_000), blocks_of("x" * shared + "z" * 40_000)
    equal = sum(a == b for a, b in zip(one, two, strict=True))
    assert CHARACTERS[equal] <= shared
    assert CHARACTERS[equal] >= shared * 0.8 or shared - CHARACTERS[equal] < SMALLEST_BLOCK


def test_each_replica_matches_as_far_as_it_has_seen_the_beginning() -> None:
    index = PrefixIndex()
    index.saw(blocks_of(A + B), "r1")
    index.saw(blocks_of(A + C), "r2")
    index.saw(blocks_of(A + B + C), "r3")
    assert index.matched(blocks_of(A + B + C)) == {"r1": 2, "r2": 1, "r3": 3}
    assert index.matched(blocks_of(B + A)) == {}


def test_the_least_recently_used_blocks_are_forgotten_first() -> None:
    index = PrefixIndex(most=2)
    index.saw(blocks_of(A), "r1")
    index.saw(blocks_of(B), "r1")
    index.saw(blocks_of(A), "r1")
    index.saw(blocks_of(C), "r1")
    assert len(index) == 2
    assert index.matched(blocks_of(A)) == {"r1": 1}
    assert index.matched(blocks_of(B)) == {}


def test_a_block_remembers_the_latest_replicas_only() -> None:
    index = PrefixIndex()
    for number in range(6):
        index.saw(blocks_of(A), f"r{number}")
    assert set(index.matched(blocks_of(A))) == {"r2", "r3", "r4", "r5"}
