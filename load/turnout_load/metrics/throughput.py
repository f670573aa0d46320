"""Rates of the system.

    measured time     = the last answer's end, or the last intended send if later, - warm-up's end
    requests finished = whole answers / measured time
    tokens per second = tokens of whole answers / measured time
    requests intended = (requests - 1) / (last intended send - first intended send)

As vLLM's benchmark has them: the time in which the last answers are waited for counts too, so a
short run shows less than a server's steady rate.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnout_load.metrics.metric import S
from turnout_load.metrics.tokens import known
from turnout_load.records import Records
from turnout_load.result import Rates


def throughput(measured: Records, answered: Records, warm_up_s: float) -> Rates:
    """Returns the rates of all measured requests and of those among them that were answered."""
    ends_ns = (*measured.column("intended_ns"), *answered.column("end_ns"))
    measured_s = max(0.0, max(ends_ns, default=0) / S - warm_up_s)
    return Rates(
        measured_s=measured_s,
        requests_intended=_intended_per_s(measured.column("intended_ns"), measured_s),
        requests_finished=per_s(len(answered), measured_s),
        input_tokens=_tokens_per_s(answered.column("input_tokens"), measured_s),
        output_tokens=_tokens_per_s(answered.column("output_tokens"), measured_s),
    )


def per_s(count: int, measured_s: float) -> float:
    """Returns a rate, 0 where no time was measured."""
    return count / measured_s if measured_s else 0.0


def _intended_per_s(intended_ns: Sequence[int], measured_s: float) -> float:
    span_ns = max(intended_ns, default=0) - min(intended_ns, default=0)
    if not span_ns:  # one request, or all at once
        return per_s(len(intended_ns), measured_s)
    return (len(intended_ns) - 1) * S / span_ns


def _tokens_per_s(counts: Sequence[int], measured_s: float) -> float | None:
    told = known(counts)
    return per_s(sum(told), measured_s) if told else None
