"""Send delay.

    send delay = actual send time - intended send time

What the client itself adds: it is part of every latency, and shows when the client did not keep
up.
"""

from __future__ import annotations

from turnout_load.metrics.metric import MS, Metric
from turnout_load.record import UNKNOWN, Record


def send_delay_ms(record: Record) -> float | None:
    """Returns how late a request was sent; None if it never was."""
    if record.sent_ns == UNKNOWN:
        return None
    return (record.sent_ns - record.intended_ns) / MS


SEND_DELAY = Metric("send_delay", "Send delay", "ms", send_delay_ms)
