"""Normalized latency.

    normalized latency = E2E / output tokens

As Orca (Yu et al., OSDI 2022) and vLLM (Kwon et al., SOSP 2023) compare servers by: queue time and
prefill are spread over the answer's tokens. Needs no stream.
"""

from __future__ import annotations

from turnout_load.metrics.e2e import e2e_ms
from turnout_load.metrics.metric import Metric
from turnout_load.record import Record


def normalized_latency_ms(record: Record) -> float | None:
    """Returns a request's latency per output token; None where tokens are unknown or none."""
    e2e = e2e_ms(record)
    if e2e is None or record.output_tokens < 1:
        return None
    return e2e / record.output_tokens


NORMALIZED_LATENCY = Metric(
    "normalized_latency", "Normalized latency", "ms/token", normalized_latency_ms
)
