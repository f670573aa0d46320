"""Goodput: the requests that met the SLO.

    share = requests that met every part / (answered + failed requests)
    rate  = requests that met every part / measured time

As DistServe (Zhong et al., OSDI 2024) and vLLM's `--goodput` have it. A failed request has met
nothing. A stream of one chunk has no gap that could be too long and meets any ITL; one of one token
meets any TPOT, as in vLLM. Other figures that a request does not have, such as the TTFT of an
answer that was not streamed, are missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turnout_load.metrics import METRICS
from turnout_load.metrics.condition import Condition, parse
from turnout_load.metrics.metric import Metric
from turnout_load.metrics.throughput import per_s
from turnout_load.record import UNKNOWN, Record
from turnout_load.result import Goodput

FAILED = "failed"
"""Counts the requests that missed the SLO because they failed."""
BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}
KINDS: Mapping[str, str] = {
    metric.name: "time" if metric.unit.startswith("ms") else "number" for metric in METRICS
}


def parse_slo(texts: Iterable[str]) -> tuple[Condition, ...]:
    """Reads what each request must meet, such as `ttft<500ms`; raises BadOption."""
    return tuple(parse("--slo", text, KINDS, ", ".join(KINDS)) for text in texts)


def goodput(
    finished: Iterable[Record], slo: tuple[Condition, ...], measured_s: float
) -> Goodput | None:
    """Returns how many of the answered and failed requests met the SLO; None without either."""
    missed = dict.fromkeys([part.text for part in slo] + [FAILED], 0)
    met = total = 0
    for record in finished:
        misses = misses_of(record, slo)
        for miss in misses:
            missed[miss] += 1
        met += not misses
        total += 1
    if not slo or not total:
        return None
    return Goodput(
        slo=[part.text for part in slo],
        share=met / total,
        requests_per_s=per_s(met, measured_s),
        missed=missed,
    )


def misses_of(record: Record, slo: tuple[Condition, ...]) -> list[str]:
    """Returns the parts of the SLO that a request missed, or that it failed."""
    if not record.ok:
        return [FAILED]
    return [part.text for part in slo if not _meets(record, part)]


def _meets(record: Record, part: Condition) -> bool:
    if record.first_ns != UNKNOWN and (
        (part.name == "itl" and record.chunks == 1)
        or (part.name == "tpot" and record.output_tokens == 1)
    ):
        return True
    return part.holds(BY_NAME[part.name].of(record))
