from __future__ import annotations

import random
import statistics

import httpx
import pytest

from turnout_load.mock.process import reset_truth, started, truth
from turnout_load.mock.settings import MockSettings
from turnout_load.mock.truth import Histogram

BODY = {"model": "m", "prompt": "x", "max_tokens": 5}


def test_percentiles_are_those_of_the_statistics_module_within_a_part_in_2000() -> None:
    chance = random.Random(7)
    values = [int(chance.lognormvariate(17, 1.5)) for _ in range(20_000)]
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    told = histogram.summary_ms()
    assert told is not None
    assert told["count"] == 20_000
    assert told["mean"] == pytest.approx(statistics.fmean(values) / 1e6)
    cuts = statistics.quantiles(values, n=1000, method="inclusive")
    for share in (50, 75, 90, 95, 99):
        assert told[f"p{share}"] == pytest.approx(cuts[share * 10 - 1] / 1e6, rel=2e-3)
    assert told["p99.9"] == pytest.approx(cuts[998] / 1e6, rel=2e-2)


def test_nothing_measured_has_no_percentiles() -> None:
    assert Histogram().summary_ms() is None


@pytest.mark.parametrize("value", [0, 1, 4095, 4096])
def test_small_values_are_kept_exactly(value: int) -> None:
    histogram = Histogram()
    histogram.add(value)
    told = histogram.summary_ms()
    assert told is not None
    assert told["p50"] == value / 1e6


def test_streams_are_never_earlier_than_set_and_every_gap_is_counted(address: str) -> None:
    reset_truth(address)
    with httpx.Client(base_url=address) as http:
        for _ in range(3):
            http.post("/v1/completions", json={**BODY, "stream": True})
    told = truth(address)
    assert told["requests"] == told["answered"] == sum(told["arrivals_by_second"]) == 3
    counts = {name: told[f"{name}_ms"]["count"] for name in ("ttft", "itl", "request_itl", "e2e")}
    assert counts == {"ttft": 3, "itl": 12, "request_itl": 3, "e2e": 3}
    kept = 1 - 1 / 2048  # a histogram rounds down
    assert told["ttft_ms"]["p50"] >= 20 * kept
    assert told["e2e_ms"]["p50"] >= (20 + 4 * 4) * kept
    assert told["e2e_ms"]["mean"] == pytest.approx(
        told["ttft_ms"]["mean"] + 4 * told["request_itl_ms"]["mean"]
    )


def test_a_whole_answer_takes_as_long_as_its_stream_and_has_no_ttft(address: str) -> None:
    reset_truth(address)
    httpx.post(f"{address}/v1/completions", json=BODY)
    told = truth(address)
    assert told["e2e_ms"]["p50"] >= 36 * (1 - 1 / 2048)
    assert told["ttft_ms"] is None
    assert told["itl_ms"] is None


def test_a_set_time_replaces_a_whole_answers_own() -> None:
    with started(MockSettings(ttft_ms=60_000, whole_ms=0)) as address:
        assert httpx.post(f"{address}/v1/completions", json=BODY, timeout=20).status_code == 200


def test_who_leaves_is_counted_as_abandoned(address: str) -> None:
    reset_truth(address)
    long = {**BODY, "stream": True, "max_tokens": 100_000}
    with httpx.stream("POST", f"{address}/v1/completions", json=long) as answer:
        next(answer.iter_raw())
    for _ in range(100):  # the mock notices at its next chunk
        httpx.post(f"{address}/v1/completions", json=BODY)
        told = truth(address)
        if told["abandoned"]:
            break
    assert told["abandoned"] == 1
    assert told["answered"] == told["requests"] - 1
