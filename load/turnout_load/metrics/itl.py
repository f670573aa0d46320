"""Inter-token latency.

    per request: ITL = (last chunk with content - first chunk with content) / (chunks - 1)
    of a run:    every gap between two neighbouring chunks with content, all requests pooled

The pooled form is vLLM's `itl`: it shows a stream that stutters, which a request's mean hides (the
mean per request is what NVIDIA GenAI-Perf reports). A gap is between chunks as they arrived: a
server that sends several tokens in a chunk has fewer and longer gaps; TPOT counts tokens.
"""

from __future__ import annotations

from collections.abc import Iterable

from turnout_load.metrics.metric import MS, Metric
from turnout_load.record import Record
from turnout_load.result import Distribution
from turnout_load.stats.histogram import Histogram
from turnout_load.stats.percentiles import pooled_distribution


def itl_ms(record: Record) -> float | None:
    """Returns the mean gap of one request; None with fewer than two chunks."""
    if record.chunks < 2:
        return None
    return (record.last_ns - record.first_ns) / (record.chunks - 1) / MS


ITL = Metric("itl", "Inter-token latency", "ms", itl_ms)


def pooled_itl_ms(gaps: Histogram, records: Iterable[Record]) -> Distribution | None:
    """Returns the percentiles of all gaps of a run, given the records that they are from.

    Gaps of one request resemble each other, so intervals are those of a sample of
    (sum of m)^2 / (sum of m^2) gaps, m being each request's: Kish's effective size ("Survey
    Sampling", 1965) at worst, when all gaps of a request are alike.
    """
    total = squares = 0
    for record in records:
        count = max(0, record.chunks - 1)
        total += count
        squares += count * count
    return pooled_distribution(gaps, MS, total * total // squares if squares else 0)
