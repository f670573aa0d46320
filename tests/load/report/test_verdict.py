import pytest

from turnout_load.report.verdict import label, verdict

MINUS = "\N{MINUS SIGN}"


def test_a_smaller_latency_is_faster() -> None:
    assert verdict("ttft.p95", -12.0, (-15.0, -9.0)) == "B is 12% ± 3% faster at p95 TTFT"


def test_a_greater_latency_is_slower() -> None:
    assert verdict("e2e.mean", 4.2, (3.8, 4.6)) == "B is 4.2% ± 0.4% slower at mean E2E"


def test_an_interval_around_zero_is_no_difference() -> None:
    assert verdict("itl_mean.p95", -9.0, (-10.0, -8.0)) == (
        "B is 9% ± 1% faster at p95 mean ITL of a request"
    )
    assert verdict("itl.p50", -1.0, (-5.0, 3.0)) == f"no difference seen ({MINUS}1% ± 4%)"


def test_without_an_interval_nothing_is_claimed() -> None:
    assert verdict("ttft.p99", -40.0, None) == f"too few pairs to tell ({MINUS}40%)"


@pytest.mark.parametrize(
    ("name", "difference", "interval", "sentence"),
    [
        ("cost.mean", -30.0, (-33.0, -27.0), "B is 30% ± 3% cheaper at mean cost"),
        ("cost", 30.0, (27.0, 33.0), "B is 30% ± 3% dearer at cost"),
        ("goodput", -2.0, (-2.5, -1.5), "B's goodput is 2.0% ± 0.5% lower"),
        (
            "output_tps.p50",
            10.0,
            (8.0, 12.0),
            "B's p50 output tokens per second of a request is 10% ± 2% higher",
        ),
    ],
)
def test_each_kind_of_metric_has_its_own_words(
    name: str, difference: float, interval: tuple[float, float], sentence: str
) -> None:
    assert verdict(name, difference, interval) == sentence


def test_a_lopsided_interval_is_told_by_its_ends() -> None:
    assert verdict("ttft.p99", 5.0, (1.0, 20.0)) == "B is 5% [1%, 20%] slower at p99 TTFT"
    assert verdict("ttft.p99", -20.0, (-21.0, 2.0)) == (
        f"no difference seen ({MINUS}20% [{MINUS}21%, 2%])"
    )


def test_a_seen_difference_never_reads_as_if_it_could_be_none() -> None:
    # 4% with ±4.5% would; its interval leaves out 0
    assert verdict("ttft.p95", 4.0, (0.2, 8.5)) == "B is 4% [0%, 8%] slower at p95 TTFT"


def test_the_farther_end_says_how_sure_it_is() -> None:
    assert verdict("ttft.p95", -12.0, (-14.0, -9.0)) == "B is 12% ± 3% faster at p95 TTFT"


def test_an_unknown_metric_keeps_its_name() -> None:
    assert label("queue_depth.p95") == "p95 queue_depth"
