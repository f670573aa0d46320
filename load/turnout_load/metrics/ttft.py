"""Time to first token.

    TTFT = arrival of the first chunk with content - intended send time

As vLLM's benchmark and NVIDIA GenAI-Perf define it, but from the time the request was to be sent
(Gil Tene, "How NOT to Measure Latency": coordinated omission). An answer that was not streamed has
no TTFT: its first token came at a time that nobody saw. Chunks without content, such as the one
that only names the role, do not count.
"""

from __future__ import annotations

from turnout_load.metrics.metric import MS, Metric
from turnout_load.record import UNKNOWN, Record


def ttft_ms(record: Record) -> float | None:
    """Returns a request's TTFT."""
    if record.first_ns == UNKNOWN:
        return None
    return (record.first_ns - record.intended_ns) / MS


TTFT = Metric("ttft", "Time to first token", "ms", ttft_ms)
