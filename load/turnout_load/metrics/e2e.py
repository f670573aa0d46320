"""End-to-end latency.

    E2E = the answer's end - intended send time

vLLM's benchmark calls it E2EL, NVIDIA GenAI-Perf request latency; both count from the actual send.
"""

from __future__ import annotations

from turnout_load.metrics.metric import MS, Metric
from turnout_load.record import UNKNOWN, Record


def e2e_ms(record: Record) -> float | None:
    """Returns a request's E2E."""
    if record.end_ns == UNKNOWN:
        return None
    return (record.end_ns - record.intended_ns) / MS


E2E = Metric("e2e", "End-to-end latency", "ms", e2e_ms)
