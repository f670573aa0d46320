from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from turnout_load.stats.bootstrap import Block, pairs, relative_difference, statistic_of


def width(interval: tuple[float, float] | None) -> float:
    assert interval is not None
    return interval[1] - interval[0]


@pytest.mark.parametrize("statistic", ["mean", "p50", "p95"])
def test_a_b_that_always_takes_12_percent_less_is_12_percent_lower_for_certain(
    statistic: str,
) -> None:
    draw = random.Random(1)
    a = [draw.lognormvariate(4, 1) for _ in range(200)]
    difference = relative_difference(pairs(a, [0.88 * x for x in a]), statistic, seed=1)
    assert difference.percent == pytest.approx(-12)
    assert difference.interval == pytest.approx((-12, -12))


def test_an_interval_of_the_mean_is_as_wide_as_normal_theory_says() -> None:
    draw = random.Random(2)
    b = [draw.gauss(90, 5) for _ in range(400)]  # standard error: 5 / sqrt(400) = 0.25% of A
    difference = relative_difference(pairs([100] * 400, b), "mean", seed=2)
    assert difference.percent == pytest.approx(-10, abs=0.75)
    assert width(difference.interval) == pytest.approx(2 * 1.96 * 0.25, rel=0.1)


def test_most_intervals_hold_the_true_difference() -> None:
    draw = random.Random(3)
    held = 0
    for seed in range(200):
        a = [draw.uniform(50, 150) for _ in range(60)]
        b = [0.9 * x * draw.uniform(0.8, 1.2) for x in a]
        low, high = relative_difference(pairs(a, b), "mean", seed, 300).interval or (0, 0)
        held += low <= -10 <= high
    assert 0.90 <= held / 200 <= 0.99


def test_pairs_are_drawn_together_so_what_both_sides_share_cancels_out() -> None:
    draw = random.Random(4)
    a = [draw.lognormvariate(4, 1) for _ in range(300)]
    b = [0.9 * x * draw.uniform(0.95, 1.05) for x in a]
    paired = relative_difference(pairs(a, b), "mean", seed=4)
    unpaired = relative_difference(pairs(a, sorted(b)), "mean", seed=4)
    assert paired.percent == pytest.approx(unpaired.percent)
    assert width(paired.interval) < width(unpaired.interval) / 5


def test_rounds_as_blocks_show_what_changes_from_round_to_round() -> None:
    draw = random.Random(5)
    rounds: list[Block] = []
    for _ in range(20):
        slowdown = draw.uniform(0.7, 1.1)  # one queue, one round
        rounds.append(([100.0] * 50, [100 * slowdown * draw.uniform(0.99, 1.01)] * 50))
    single: Sequence[Block] = [pair for a, b in rounds for pair in pairs(a, b)]
    by_round = relative_difference(rounds, "mean", seed=5)
    by_request = relative_difference(single, "mean", seed=5)
    assert by_round.percent == pytest.approx(by_request.percent)
    assert width(by_round.interval) > 3 * width(by_request.interval)


def test_the_same_seed_gives_the_same_interval_and_another_one_does_not() -> None:
    draw = random.Random(6)
    sample = pairs(*([draw.uniform(1, 2) for _ in range(50)] for _ in "ab"))
    assert relative_difference(sample, "mean", 1) == relative_difference(sample, "mean", 1)
    assert relative_difference(sample, "mean", 1) != relative_difference(sample, "mean", 2)


def test_too_small_a_sample_has_a_difference_without_an_interval() -> None:
    one = relative_difference([([2.0], [3.0])], "mean", seed=0)
    assert (one.percent, one.interval) == (50, None)
    fifty = pairs(range(1, 51), range(2, 52))
    assert relative_difference(fifty, "p99", seed=0).interval is None
    assert relative_difference(fifty, "p50", seed=0).interval is not None


@pytest.mark.parametrize("blocks", [[], [([], [1.0])], [([0.0], [1.0])], [([1.0], [-1.0])]])
def test_samples_without_a_relative_difference_are_refused(blocks: list[Block]) -> None:
    with pytest.raises(ValueError, match="needs positive values on both sides"):
        relative_difference(blocks, "mean", seed=0)


def test_samples_of_different_lengths_make_no_pairs() -> None:
    with pytest.raises(ValueError, match="shorter"):
        pairs([1, 2], [1])


def test_a_statistic_by_name_leaves_the_sample_in_its_order() -> None:
    sample = [3.0, 1.0, 2.0, 10.0]
    assert (statistic_of(sample, "mean"), statistic_of(sample, "p50")) == (4, 2.5)
    assert sample == [3, 1, 2, 10]
