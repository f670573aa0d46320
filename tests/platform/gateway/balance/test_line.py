"""A line learned from points, against numpy's least squares and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from turnout.gateway.balance.line import Line


def test_without_points_the_prior_holds() -> None:
    line = Line(0.05, 0.001, scale=100)
    assert line.at(0) == pytest.approx(0.05)
    assert line.at(200) == pytest.approx(0.25)
    assert not line.has_points


def test_points_on_a_line_are_found_whatever_the_prior_said() -> None:
    line = Line(1.0, 0.02, scale=100, kept=1.0)
    chance = np.random.default_rng(1)
    for x in chance.uniform(0, 200, 4000):
        line.learn(x, 0.2 + 0.003 * x)
    assert line.at(0) == pytest.approx(0.2, abs=0.01)
    assert line.at(200) == pytest.approx(0.8, abs=0.02)


def test_it_agrees_with_numpys_weighted_least_squares() -> None:
    chance = np.random.default_rng(2)
    xs = chance.uniform(0, 200, 300)
    ys = 0.1 + 0.002 * xs + chance.normal(0, 0.02, 300)
    line = Line(0.1, 0.002, scale=100, kept=0.99)
    for x, y in zip(xs, ys, strict=True):
        line.learn(x, y)
    # polyfit's weights are of residuals: the root of those of their squares
    slope, intercept = np.polyfit(xs, ys, 1, w=np.sqrt(0.99 ** np.arange(300)[::-1]))
    assert line.at(0) == pytest.approx(intercept, abs=0.003)
    assert line.at(200) == pytest.approx(intercept + 200 * slope, abs=0.003)


def test_a_replica_that_becomes_slower_is_known_within_some_answers() -> None:
    line = Line(0.05, 0.0, scale=100)
    for _ in range(100):
        line.learn(100, 0.1)
    for _ in range(40):
        line.learn(100, 1.0)
    assert line.at(100) == pytest.approx(1.0, rel=0.15)


def test_points_that_fall_with_x_give_their_mean_never_a_falling_line() -> None:
    line = Line(0.0, 0.0, scale=1, kept=1.0)
    for x, y in ((0, 2.0), (10, 1.0)) * 200:
        line.learn(x, y)
    assert line.at(0) == line.at(10) == pytest.approx(1.5, abs=0.01)


def test_it_never_promises_less_than_nothing() -> None:
    line = Line(0.0, 0.0, scale=1, kept=1.0)
    for x, y in ((10, 0.0), (20, 1.0)) * 200:
        line.learn(x, y)
    assert line.at(0) == 0.0
    assert line.at(20) > line.at(10) > 0
