"""Whether a server kept up with its requests, or only let them wait. Pure."""

from __future__ import annotations

from turnout_load.metrics.metric import S
from turnout_load.records import Records

SHARE = 0.1
"""Of the requests that came: what may be left over."""


def backlog(records: Records, warm_up_s: float) -> str:
    """Says that requests came faster than they ended, or returns an empty text.

    Counts in the second half of the time in which conversations were started, after the warm-up;
    the first half fills the server. In a stable queue as many requests end as come, whatever their
    latency (Little 1961). More than a tenth may not be left over, and no fewer than chance brings:
    two standard deviations of a Poisson count. A run too short for half of it to see answers shows
    no stable queue either.
    """
    starts = [
        intended
        for intended, turn in zip(
            records.column("intended_ns"), records.column("turn"), strict=True
        )
        if turn == 0 and intended >= warm_up_s * S
    ]
    if not starts:
        return ""
    end_ns, middle_ns = max(starts), (max(starts) + min(starts)) / 2
    came = sum(middle_ns < each <= end_ns for each in records.column("intended_ns"))
    ended = sum(middle_ns < each <= end_ns for each in records.column("end_ns"))
    if came - ended <= max(SHARE * came, 2 * came**0.5):
        return ""
    return (
        f"the queue grew: {came} requests came in the second half of the sending time, and {ended} "
        "ended in it (or the run is too short beside its latency)"
    )
