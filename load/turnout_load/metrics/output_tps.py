"""Output tokens per second of one request, while it streams.

    output TPS = (output tokens - 1) / (last chunk with content - first chunk with content)

The speed at which a reader sees text grow: NVIDIA GenAI-Perf's output token throughput per user.
The first token is left out of the count because its time is TTFT. The system's own rate is
`throughput`.
"""

from __future__ import annotations

from turnout_load.metrics.metric import Metric, S
from turnout_load.record import Record


def output_tokens_per_s(record: Record) -> float | None:
    """Returns a request's streaming rate; None with fewer than two tokens or two chunks."""
    if record.output_tokens < 2 or record.last_ns <= record.first_ns:
        return None
    return (record.output_tokens - 1) * S / (record.last_ns - record.first_ns)


OUTPUT_TPS = Metric("output_tps", "Output tokens per second", "tokens/s", output_tokens_per_s)
