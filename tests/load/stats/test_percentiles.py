from __future__ import annotations

import random
import statistics
from fractions import Fraction
from math import comb, log

import pytest

from turnout_load.stats.histogram import Histogram
from turnout_load.stats.percentiles import (
    PERCENTILES,
    distribution,
    interval_ranks,
    pooled_distribution,
    quantile,
)

# Ranks that enclose a median with 95%, as tables of the sign test give them
# (Altman et al., "Statistics with Confidence", table of ranks for the median).
MEDIAN_RANKS = {
    6: (1, 6),
    7: (1, 7),
    8: (1, 8),
    9: (2, 8),
    10: (2, 9),
    12: (3, 10),
    15: (4, 12),
    20: (6, 15),
    25: (8, 18),
    30: (10, 21),
    40: (14, 27),
    50: (18, 33),
    100: (40, 61),
}


def test_quantiles_are_those_of_the_statistics_module() -> None:
    draw = random.Random(1)
    sample = sorted(draw.lognormvariate(0, 1) for _ in range(997))
    expected = statistics.quantiles(sample, n=1000, method="inclusive")
    for thousandths in (1, 500, 750, 900, 950, 990, 999):
        assert quantile(sample, thousandths / 1000) == pytest.approx(expected[thousandths - 1])


def test_quantiles_are_those_that_r_gives_by_default() -> None:
    assert quantile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9) == pytest.approx(9.1)
    assert quantile([1, 2, 3, 4], 0.25) == 1.75
    assert quantile([7.0], 0.99) == 7.0


@pytest.mark.parametrize(("count", "ranks"), MEDIAN_RANKS.items())
def test_a_medians_interval_has_the_ranks_that_are_printed_in_tables(
    count: int, ranks: tuple[int, int]
) -> None:
    assert interval_ranks(count, 0.5) == ranks


@pytest.mark.parametrize(("count", "percent"), [(80, 95), (200, 90), (400, 99), (1500, 75)])
def test_intervals_are_the_narrowest_with_exact_tails_of_2_5_percent(
    count: int, percent: int
) -> None:
    share, tail = Fraction(percent, 100), Fraction(25, 1000)
    term = [comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(count + 1)]
    ranks = interval_ranks(count, percent / 100)
    assert ranks is not None
    low, high = ranks
    assert sum(term[:low]) <= tail < sum(term[: low + 1])
    assert sum(term[high:]) <= tail < sum(term[high - 1 :])


@pytest.mark.parametrize(
    ("name", "smallest"), [("p50", 6), ("p95", 72), ("p99", 368), ("p99.9", 3688)]
)
def test_a_sample_without_enough_values_beyond_the_percentile_has_no_interval(
    name: str, smallest: int
) -> None:
    share = PERCENTILES[name]
    assert smallest == int(log(0.025) / log(share)) + 1  # P(no value beyond it) first under 2.5%
    assert interval_ranks(smallest - 1, share) is None
    assert interval_ranks(smallest, share) is not None


def test_a_large_samples_ranks_are_those_of_the_normal_approximation() -> None:
    ranks = interval_ranks(1_000_000, 0.9)
    assert ranks == pytest.approx((900_000 - 1.96 * 300, 900_000 + 1.96 * 300), abs=2)


def test_nineteen_intervals_in_twenty_hold_the_true_percentile() -> None:
    draw = random.Random(3)
    truth = log(10)  # p90 of an exponential of mean 1
    held = 0
    for _ in range(600):
        sample = distribution(draw.expovariate(1) for _ in range(150))
        assert sample is not None
        interval = sample.ci95["p90"]
        assert interval is not None
        held += interval[0] <= truth <= interval[1]
    assert 0.94 <= held / 600 <= 0.99


def test_a_distribution_holds_count_mean_extremes_and_percentiles() -> None:
    figures = distribution([*range(101)])
    assert figures is not None
    assert (figures.count, figures.mean, figures.min, figures.max) == (101, 50, 0, 100)
    assert (figures.p50, figures.p75, figures.p90, figures.p95) == (50, 75, 90, 95)
    assert (figures.p99, figures.p99_9) == pytest.approx((99, 99.9))
    assert figures.ci95["p99"] is None
    assert set(figures.ci95) == {"p50", "p75", "p90", "p95", "p99", "p99.9"}


def test_a_distributions_interval_is_between_the_values_of_those_ranks() -> None:
    figures = distribution(range(1, 101))
    assert figures is not None
    assert figures.ci95["p50"] == (40, 61)


def test_nothing_measured_has_no_distribution() -> None:
    assert distribution([]) is None
    assert pooled_distribution(Histogram(), 1, 0) is None


def test_a_histograms_percentiles_are_those_of_its_values_within_a_thousandth() -> None:
    draw = random.Random(5)
    gaps = [int(draw.lognormvariate(16, 0.5)) for _ in range(5000)]
    histogram = Histogram()
    for gap in gaps:
        histogram.add(gap)
    figures = pooled_distribution(histogram, 1_000_000, 5000)
    cuts = statistics.quantiles([gap / 1e6 for gap in gaps], n=1000, method="inclusive")
    assert figures is not None
    assert figures.mean == pytest.approx(statistics.mean(gaps) / 1e6)
    assert (figures.min, figures.max) == (min(gaps) / 1e6, max(gaps) / 1e6)
    for name, at in (("p50", 500), ("p75", 750), ("p95", 950), ("p99", 990), ("p99_9", 999)):
        assert getattr(figures, name) == pytest.approx(cuts[at - 1], rel=0.0011)


def test_pooled_values_that_repeat_are_worth_no_more_than_the_independent_ones() -> None:
    histogram = Histogram()
    for value in range(1, 101):
        for _ in range(10):  # ten alike of each
            histogram.add(value)
    figures = pooled_distribution(histogram, 1, 100)
    assert figures is not None
    assert figures.count == 1000
    assert figures.ci95["p50"] == (40, 61)
    assert figures.ci95["p99"] is None
