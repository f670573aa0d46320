from __future__ import annotations

import pickle
import random
import statistics

import pytest

from turnout_load.stats.histogram import Histogram


def filled(values: list[int]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


def log_uniform(count: int, bits: float) -> list[int]:
    draw = random.Random(7)
    return [int(2 ** draw.uniform(0, bits)) for _ in range(count)]


def test_values_from_nanoseconds_to_days_come_back_within_a_thousandth() -> None:
    values = log_uniform(20_000, 48)
    ordered = filled(values).ordered()
    for rank, value in enumerate(sorted(values)):
        assert ordered[rank] == pytest.approx(value, rel=0.001)


def test_values_below_1024_ns_come_back_exactly() -> None:
    ordered = filled(list(range(1024))).ordered()
    assert [ordered[rank] for rank in range(1024)] == list(range(1024))


def test_count_total_minimum_and_maximum_are_exact() -> None:
    values = log_uniform(1000, 40)
    histogram = filled(values)
    assert (histogram.count, histogram.total) == (1000, sum(values))
    assert (histogram.minimum, histogram.maximum) == (min(values), max(values))
    assert histogram.total / histogram.count == pytest.approx(statistics.mean(values))


def test_no_value_read_back_lies_outside_minimum_and_maximum() -> None:
    ordered = filled([1_000_001, 9_000_003]).ordered()
    assert [ordered[0], ordered[1]] == [
        pytest.approx(1_000_001, rel=0.001),
        pytest.approx(9_000_003, rel=0.001),
    ]
    assert ordered[0] >= 1_000_001
    assert ordered[1] <= 9_000_003


def test_merged_histograms_are_as_one_that_took_all_values() -> None:
    values = log_uniform(3000, 40)
    merged = filled(values[:1000])
    merged.merge(filled(values[1000:]))
    merged.merge(Histogram())
    empty = Histogram()
    empty.merge(merged)
    assert vars(merged) == vars(filled(values)) == vars(empty)


def test_a_ranks_value_is_read_in_the_unit_asked_for() -> None:
    assert filled([512_000, 512_000]).ordered(unit_ns=1000)[1] == pytest.approx(512, rel=0.001)


def test_memory_is_bounded_whatever_the_values() -> None:
    assert len(pickle.dumps(filled(log_uniform(300_000, 63)))) < 600_000


def test_a_negative_duration_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be negative: -3 ns"):
        Histogram().add(-3)


def test_a_rank_past_the_last_value_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        filled([5]).ordered()[1]
    assert len(Histogram().ordered()) == 0
