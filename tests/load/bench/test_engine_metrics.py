"""A run's means are read from the engine's totals before and after it."""

from __future__ import annotations

import pytest

from turnout_load.bench.engine_metrics import Mean, means_between, totals

BEFORE = """\
# HELP vllm:time_to_first_token_seconds Histogram of time to first token in seconds.
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5",model_name="small"} 1.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="small"} 1.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="small"} 0.25
# TYPE vllm:time_to_first_token_seconds_created gauge
vllm:time_to_first_token_seconds_created{engine="0",model_name="small"} 1.7e+09
"""
AFTER = """\
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="small"} 3.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="small"} 3.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="small"} 1.5
vllm:time_to_first_token_seconds_count{engine="1",model_name="small"} 2.0
vllm:time_to_first_token_seconds_sum{engine="1",model_name="small"} 0.75
vllm:inter_token_latency_seconds_count{engine="0",model_name="small"} 8.0
vllm:inter_token_latency_seconds_sum{engine="0",model_name="small"} 1e-01
vllm:request_time_per_output_token_seconds_sum{engine="0",model_name="small"} 99.0
"""


def test_a_mean_is_that_of_the_run_alone_over_all_of_the_pages_engines() -> None:
    means = means_between(totals(BEFORE), totals(AFTER))
    assert means["ttft_ms"] == Mean(500.0, 4)  # (1.5 + 0.75 - 0.25) s of 3 + 2 - 1 requests
    assert means["itl_ms"] is not None
    assert means["itl_ms"].ms == pytest.approx(12.5)
    assert means["itl_ms"].count == 8


def test_a_run_that_the_engine_saw_nothing_of_has_no_mean() -> None:
    assert means_between(totals(BEFORE), totals(BEFORE)) == {"ttft_ms": None, "itl_ms": None}
