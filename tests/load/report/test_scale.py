import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnout_load.report.scale import exact, fitting, linear, logarithmic, tick_text


def test_a_linear_axis_ends_at_round_ticks() -> None:
    axis = linear(3, 97)
    assert axis.ticks == (0, 20, 40, 60, 80, 100)
    assert (axis.low, axis.high) == (0, 100)
    assert axis.share(25) == 0.25


def test_ticks_carry_no_binary_dust() -> None:
    assert linear(0, 0.3, 3).ticks == (0.0, 0.1, 0.2, 0.3)
    assert tick_text(0.3) == "0.3"
    assert tick_text(-12500) == "\N{MINUS SIGN}12,500"


def test_a_logarithmic_axis_has_ticks_at_1_2_and_5() -> None:
    axis = logarithmic(12, 340)
    assert axis.ticks == (10, 20, 50, 100, 200, 500)
    assert axis.share(10) == 0
    assert axis.share(500) == 1
    assert axis.share(5**0.5 * 10 * 10**0.5) == pytest.approx(0.5)  # the geometric middle


def test_many_decades_have_a_tick_each() -> None:
    assert logarithmic(1, 10_000).ticks == (1, 10, 100, 1000, 10_000)


def test_data_far_apart_gets_a_logarithmic_axis() -> None:
    assert fitting([1, 500]).is_logarithmic
    assert not fitting([40, 60]).is_logarithmic
    assert not fitting([0, 500]).is_logarithmic


def test_time_ends_with_the_data() -> None:
    axis = exact(23.5)
    assert axis.high == 23.5
    assert axis.ticks == (0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22)


@pytest.mark.parametrize("values", [[], [0], [7], [7, 7], [-3], [0.001, 0.0010000000000000002]])
def test_one_value_or_none_still_gets_an_axis(values: list[float]) -> None:
    axis = fitting(values)
    assert axis.low < axis.high
    assert all(0 <= axis.share(value) <= 1 for value in values)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.just(0.0) | st.floats(0.001, 1e7), min_size=1))
def test_every_latency_lies_on_its_axis(values_ms: list[float]) -> None:
    axis = fitting(values_ms)
    assert all(-1e-9 <= axis.share(value) <= 1 + 1e-9 for value in values_ms)
    assert 2 <= len(axis.ticks) <= 12
