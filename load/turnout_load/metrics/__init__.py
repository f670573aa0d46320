"""One metric a file, each with its formula and where it is from.

Latencies count from the intended send time, so a server that makes requests wait also pays for
those that could not be sent meanwhile.
"""

from __future__ import annotations

from turnout_load.metrics.e2e import E2E
from turnout_load.metrics.itl import ITL
from turnout_load.metrics.metric import Metric
from turnout_load.metrics.normalized_latency import NORMALIZED_LATENCY
from turnout_load.metrics.output_tps import OUTPUT_TPS
from turnout_load.metrics.send_delay import SEND_DELAY
from turnout_load.metrics.tpot import TPOT
from turnout_load.metrics.ttft import TTFT

METRICS: tuple[Metric, ...] = (
    TTFT,
    ITL,
    TPOT,
    E2E,
    NORMALIZED_LATENCY,
    OUTPUT_TPS,
    SEND_DELAY,
)
"""What every single request has."""
