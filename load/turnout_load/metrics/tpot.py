"""Time per output token, the first one left out.

    TPOT = (E2E - TTFT) / (output tokens - 1)

As vLLM's benchmark and DistServe (Zhong et al., OSDI 2024) define it; NVIDIA GenAI-Perf calls the
same formula inter-token latency. None for an answer of one token, or whose tokens nobody counted.
"""

from __future__ import annotations

from turnout_load.metrics.e2e import e2e_ms
from turnout_load.metrics.metric import Metric
from turnout_load.metrics.ttft import ttft_ms
from turnout_load.record import Record


def tpot_ms(record: Record) -> float | None:
    """Returns a request's TPOT."""
    ttft, e2e = ttft_ms(record), e2e_ms(record)
    if ttft is None or e2e is None or record.output_tokens < 2:
        return None
    return (e2e - ttft) / (record.output_tokens - 1)


TPOT = Metric("tpot", "Time per output token", "ms", tpot_ms)
