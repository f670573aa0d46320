from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from itertools import islice, pairwise

import pytest

from turnout_load.errors import BadOption
from turnout_load.spec import Workload
from turnout_load.workload.arrivals import arrivals

MANY = 20_000


def seconds(workload: Workload, count: int, duration_s: float | None = None) -> list[float]:
    offsets = arrivals(workload, duration_s).offsets_ns(seed=7)
    return [offset / 1e9 for offset in islice(offsets, count)]


def gaps(workload: Workload) -> list[float]:
    return [later - earlier for earlier, later in pairwise([0.0, *seconds(workload, MANY)])]


def farthest_from(samples: list[float], share_below: Callable[[float], float]) -> float:
    """The Kolmogorov-Smirnov distance."""
    ordered, size = sorted(samples), len(samples)
    return max(abs(share_below(x) - (i + 0.5) / size) for i, x in enumerate(ordered))


# The distance of 20,000 true samples exceeds this once in a hundred times.
KS_1_PERCENT = 1.63 / math.sqrt(MANY)


def test_a_constant_rate_starts_at_once_and_then_evenly() -> None:
    assert seconds(Workload(rate=8), 4) == [0, 0.125, 0.25, 0.375]


def test_rounding_does_not_add_up_over_a_million_starts() -> None:
    offsets = arrivals(Workload(rate=3), None).offsets_ns(seed=0)
    assert next(islice(offsets, 1_000_000, None)) == 333_333_333_333_333


def test_gaps_of_a_poisson_process_are_exponential() -> None:
    found = gaps(Workload(arrivals="poisson", rate=50))
    assert statistics.fmean(found) == pytest.approx(0.02, rel=4 / math.sqrt(MANY))
    assert statistics.stdev(found) == pytest.approx(0.02, rel=4 / math.sqrt(MANY))
    assert farthest_from(found, lambda x: 1 - math.exp(-50 * x)) < KS_1_PERCENT


def test_gamma_gaps_of_variation_root_two_are_chi_squared_with_one_degree() -> None:
    found = gaps(Workload(arrivals="gamma", rate=1, burstiness=math.sqrt(2)))
    assert farthest_from(found, lambda x: math.erf(math.sqrt(x / 2))) < KS_1_PERCENT


@pytest.mark.parametrize("burstiness", [0.25, 3.0])
def test_gamma_gaps_have_the_wanted_mean_and_variation(burstiness: float) -> None:
    found = gaps(Workload(arrivals="gamma", rate=10, burstiness=burstiness))
    mean = statistics.fmean(found)
    assert mean == pytest.approx(0.1, rel=4 * burstiness / math.sqrt(MANY))
    assert statistics.stdev(found) / mean == pytest.approx(burstiness, rel=0.1)


def test_an_even_ramp_from_rest_has_started_half_t_squared_by_t() -> None:
    ramp = Workload(arrivals="ramp", rate=0, ramp_to=10, burstiness=0)
    found = seconds(ramp, 100, duration_s=10)
    assert [found[started] for started in (0, 2, 8, 18, 32, 50)] == [0, 2, 4, 6, 8, 10]
    assert len(found) == 51


def test_an_even_ramp_down_to_rest_ends_with_the_run() -> None:
    ramp = Workload(arrivals="ramp", rate=10, ramp_to=0, burstiness=0)
    found = seconds(ramp, 100, duration_s=10)
    assert [found[started] for started in (0, 18, 32, 42)] == pytest.approx([0, 2, 4, 6])
    assert len(found) in (50, 51)


def test_a_ramp_between_equal_rates_is_constant() -> None:
    ramp = Workload(arrivals="ramp", rate=4, ramp_to=4, burstiness=0)
    assert seconds(ramp, 4, duration_s=10) == [0, 0.25, 0.5, 0.75]


def test_a_ramp_is_a_poisson_process_unless_told_otherwise() -> None:
    found = seconds(Workload(arrivals="ramp", rate=0, ramp_to=200), MANY, duration_s=100)
    # Of 10,000 expected a quarter falls into the first half; counts scatter by their root.
    assert sum(time < 50 for time in found) == pytest.approx(2_500, abs=4 * 50)
    assert sum(time >= 50 for time in found) == pytest.approx(7_500, abs=4 * 87)
    early = [later - earlier for earlier, later in pairwise(found[:2_000])]
    assert statistics.stdev(early) > 0.5 * statistics.fmean(early)


def test_even_steps_hold_each_rate_for_an_equal_share_and_zero_is_a_pause() -> None:
    steps = Workload(arrivals="steps", steps=(2, 0, 4), burstiness=0)
    found = seconds(steps, 100, duration_s=30)
    assert found == [i / 2 for i in range(20)] + [20 + i / 4 for i in range(40)]


def test_a_seed_gives_the_same_starts_and_another_seed_others() -> None:
    timed = arrivals(Workload(arrivals="poisson", rate=5), None)
    first, again, other = ([*islice(timed.offsets_ns(seed), 50)] for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload(arrivals="often"), "--arrivals 'often': expected constant, poisson, gamma"),
        (Workload(rate=0), "--rate '0': expected conversations per second"),
        (Workload(rate=math.nan), "--rate 'nan'"),
        (Workload(arrivals="gamma", burstiness=-1), "--burstiness '-1'"),
        (Workload(arrivals="ramp", rate=1), "--ramp-to"),
        (Workload(arrivals="ramp", rate=0, ramp_to=0), "--rate and --ramp-to '0,0'"),
        (Workload(arrivals="steps", steps=()), "--step ''"),
        (Workload(arrivals="steps", steps=(1, -2)), "--step '1,-2'"),
    ],
)
def test_rates_that_start_nothing_are_refused(workload: Workload, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        arrivals(workload, 10)


def test_a_ramp_without_a_duration_is_refused() -> None:
    with pytest.raises(BadOption, match="--duration"):
        arrivals(Workload(arrivals="ramp", ramp_to=2), None)
