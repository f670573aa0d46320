"""Whether the client kept up.

It did not when a process of it used over 90% of a core, when every connection that it may open was
in use, or when one request in twenty was sent over 10 ms late: its latencies are then its own as
much as the server's.
"""

from __future__ import annotations

from turnout_load.result import Distribution

MOST_CPU_SHARE = 0.9
MOST_SEND_DELAY_MS = 10.0


def bottleneck(
    cpu_share: float,
    peak_in_flight: int,
    max_connections: int,
    send_delay_ms: Distribution | None,
) -> str | None:
    """Returns what kept the client from keeping up and what helps, or None.

    `cpu_share` is that of one core by the busiest process; connections are those of all processes.
    """
    if cpu_share > MOST_CPU_SHARE:
        return f"a process used {cpu_share:.0%} of a core: give it more --processes"
    if peak_in_flight >= max_connections:
        return f"all {max_connections} connections were in use: allow more --max-connections"
    if send_delay_ms is not None and send_delay_ms.p95 > MOST_SEND_DELAY_MS:
        return (
            f"one request in twenty was sent over {send_delay_ms.p95:.0f} ms late: give it more "
            "--processes, or a machine that does less besides"
        )
    return None
