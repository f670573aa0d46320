"""What a run must have reached, as `--assert` says it: `ttft.p95<500ms`, `goodput>0.99`.

`output_tps.p50` is how fast the text of one request grows; `output_tokens_per_s` is the system's
rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from turnout_load.metrics.condition import Condition, parse
from turnout_load.metrics.goodput import KINDS
from turnout_load.result import Distribution, Result
from turnout_load.stats.percentiles import PERCENTILES

STATISTICS = ("mean", "min", "max", *PERCENTILES)
FIGURES: Mapping[str, str] = {
    "goodput": "share",
    "error_rate": "share",
    "prefix_cache": "share",
    "requests_per_s": "number",
    "input_tokens_per_s": "number",
    "output_tokens_per_s": "number",
    "usd_per_million_tokens": "number",
    "usd_per_million_output_tokens": "number",
}
"""Figures of a whole run, by what is measured."""


Assertion = Condition
"""A condition on a figure of a whole run."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An assertion beside what was measured."""

    text: str
    kind: str
    value: float | None
    """In milliseconds for times, as a fraction for shares; None if the run did not measure it."""
    holds: bool

    @property
    def sentence(self) -> str:
        """Says whether it holds, and by how much."""
        verdict = "holds" if self.holds else "does not hold"
        if self.value is None:
            return f"{self.text} {verdict}: the run did not measure it"
        measured = {
            "time": f"{self.value:.6g} ms",
            "share": f"{self.value * 100:.6g}%",
            "number": f"{self.value:.6g}",
        }
        return f"{self.text} {verdict}: measured {measured[self.kind]}"


def parse_assertion(text: str, option: str = "--assert") -> Assertion:
    """Reads an assertion such as `ttft.p95<500ms`; raises BadOption."""
    by_statistic = {f"{name}.{each}": kind for name, kind in KINDS.items() for each in STATISTICS}
    names = (
        f"METRIC.STATISTIC ({', '.join(KINDS)}; {', '.join(STATISTICS)}) or {', '.join(FIGURES)}"
    )
    return parse(option, text, {**by_statistic, **FIGURES}, names)


def check(result: Result, assertions: Iterable[Assertion]) -> list[Checked]:
    """Compares assertions with a run; one on a figure that was not measured does not hold."""
    values = [(each, measured(result, each.name)) for each in assertions]
    return [Checked(each.text, each.kind, value, each.holds(value)) for each, value in values]


def measured(result: Result, name: str) -> float | None:
    """Returns a figure by the name that assertions give it, such as `ttft.p95` or `goodput`."""
    metric, _, statistic = name.partition(".")
    if not statistic:
        return _figures(result)[name]
    percentiles = _distributions(result)[metric]
    value: float | None = getattr(percentiles, statistic.replace(".", "_"), None)
    return value


def has_interval(result: Result, name: str) -> bool:
    """Says whether a figure is no percentile, or one of enough requests for an interval."""
    metric, _, statistic = name.partition(".")
    if statistic not in PERCENTILES:
        return True
    percentiles = _distributions(result)[metric]
    return percentiles is not None and percentiles.ci95.get(statistic) is not None


def _distributions(result: Result) -> dict[str, Distribution | None]:
    return {
        "ttft": result.ttft_ms,
        "itl": result.itl_ms,
        "tpot": result.tpot_ms,
        "e2e": result.e2e_ms,
        "normalized_latency": result.normalized_latency_ms_per_token,
        "output_tps": result.output_tps,
        "send_delay": result.send_delay_ms,
    }


def _figures(result: Result) -> dict[str, float | None]:
    finished = result.requests.ok + result.requests.failed
    goodput, cache, cost = result.goodput, result.prefix_cache, result.cost
    return {
        "goodput": goodput.share if goodput else None,
        "error_rate": result.requests.failed / finished if finished else None,
        "prefix_cache": cache.share if cache else None,
        "requests_per_s": result.rates.requests_finished,
        "input_tokens_per_s": result.rates.input_tokens,
        "output_tokens_per_s": result.rates.output_tokens,
        "usd_per_million_tokens": cost.usd_per_million_tokens if cost else None,
        "usd_per_million_output_tokens": cost.usd_per_million_output_tokens if cost else None,
    }
