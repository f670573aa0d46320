from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from turnout_load.errors import BadData, BadOption
from turnout_load.workload.lengths import amount, length

MANY = 10_000


def drawn(text: str) -> list[int]:
    rng, wanted = Random(5), length("--input-tokens", text)
    return [wanted.draw(rng) for _ in range(MANY)]


def test_a_fixed_length_is_always_the_same() -> None:
    assert set(drawn("fixed:128")) == {128}


def test_a_normal_length_has_its_mean_and_deviation() -> None:
    found = drawn("normal:mean=500,sd=50")
    assert statistics.fmean(found) == pytest.approx(500, abs=4 * 50 / math.sqrt(MANY))
    assert statistics.stdev(found) == pytest.approx(50, rel=4 / math.sqrt(2 * MANY))


def test_a_lognormal_length_has_the_mean_and_deviation_of_the_values_themselves() -> None:
    found = drawn("lognormal:mean=512,sd=200")
    assert statistics.fmean(found) == pytest.approx(512, abs=4 * 200 / math.sqrt(MANY))
    assert statistics.stdev(found) == pytest.approx(200, rel=0.06)
    # A median of 512 / sqrt(1 + (200/512)²) = 476.9, with a standard error of 2.3.
    assert statistics.median(found) == pytest.approx(476.9, abs=9)


def test_a_uniform_length_fills_its_range() -> None:
    found = drawn("uniform:low=10,high=20")
    assert (min(found), max(found)) == (10, 20)
    assert statistics.fmean(found) == pytest.approx(15, abs=0.12)


def test_what_falls_outside_the_bounds_is_moved_to_them() -> None:
    found = drawn("normal:mean=100,sd=100,min=50,max=150")
    assert (min(found), max(found)) == (50, 150)
    # 30.9% of a normal lies more than half a deviation below its mean.
    assert found.count(50) / MANY == pytest.approx(0.309, abs=0.02)


def test_a_length_is_never_below_one() -> None:
    assert min(drawn("normal:mean=1,sd=5")) == 1
    assert set(drawn("fixed:0")) == {1}


def test_seconds_keep_their_fractions_and_may_be_zero() -> None:
    assert amount("--think-time-s", "fixed:0.25").draw(Random(0)) == 0.25
    assert amount("--think-time-s", "fixed:0").draw(Random(0)) == 0


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("lengths.csv", ["tokens,weight", "10,3", "", "20,1"]),
        ("lengths.csv", ["10,3", "20,1"]),
        ("lengths.json", ["[[10, 3], [20, 1]]"]),
        ("lengths.json", ['{"10": 3, "20": 1}']),
    ],
)
def test_a_histogram_gives_its_values_by_their_weights(
    write: Callable[..., str], name: str, lines: list[str]
) -> None:
    found = Counter(drawn(f"histogram:{write(name, *lines)}"))
    assert found.keys() == {10, 20}
    assert found[10] / MANY == pytest.approx(0.75, abs=4 * 0.0043)


def test_a_histogram_is_bounded_too(write: Callable[..., str]) -> None:
    path = write("lengths.csv", "10,1", "20,1")
    assert set(drawn(f"histogram:{path},max=15")) == {10, 15}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["value,weight", "10,1", "twenty,1"], "h.csv:3: expected value,weight"),
        (["10,1", "20,-1"], "h.csv:2: 20,-1"),
        (["10,0"], "h.csv: a histogram needs a weight above 0"),
        (["[[10, 1], [20]]"], r"h.csv: expected \[\[value, weight\]"),
    ],
)
def test_a_broken_histogram_is_refused_by_its_line(
    write: Callable[..., str], lines: list[str], message: str
) -> None:
    with pytest.raises(BadData, match=message):
        length("--input-tokens", f"histogram:{write('h.csv', *lines)}")


def test_a_histogram_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadData, match=r"nowhere.csv: cannot be read: No such file"):
        length("--input-tokens", "histogram:nowhere.csv")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "128",
        "gamma:mean=1",
        "fixed:",
        "fixed:many",
        "fixed:-1",
        "fixed:nan",
        "normal:mean=5",
        "normal:5,2",
        "normal:mean=5,sd=1,mode=2",
        "lognormal:mean=0,sd=1",
        "uniform:low=9,high=3",
        "fixed:5,min=9,max=3",
        "fixed:5,min=",
    ],
)
def test_a_text_that_says_no_length_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(BadOption, match=r"^--turns ") as refused:
        length("--turns", text)
    assert repr(text) in str(refused.value)
