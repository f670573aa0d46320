"""What a report begins with: what was run, the figures that matter most, what to be wary of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from turnout_load.report.units import milliseconds, number, seconds, share, usd
from turnout_load.result import Result


@dataclass(frozen=True, slots=True)
class Headline:
    """One of the figures that a report begins with."""

    name: str
    value: str
    detail: str


def what_was_run(spec: Mapping[str, Any]) -> str:
    """Says in one sentence what was sent, when and how often, from a result's spec."""
    target, workload = spec.get("target", {}), spec.get("workload", {})
    length = spec.get("duration_s")
    parts = [
        f"{target.get('endpoint', 'chat')} requests, "
        f"{'streamed' if target.get('stream', True) else 'not streamed'}",
        _arrivals(workload),
        f"for {seconds(length)}" if length else "",
        f"{spec['requests']:,} conversations" if spec.get("requests") else "",
        _content(workload),
        f"warm-up {seconds(spec['warm_up_s'])}" if spec.get("warm_up_s") else "",
        f"seed {spec.get('seed', 0)}",
    ]
    return ", ".join(part for part in parts if part)


def _arrivals(workload: Mapping[str, Any]) -> str:
    if workload.get("trace"):
        return (
            f"as in the trace {workload['trace']} at {workload.get('speed', 1):g} times its speed"
        )
    kind, rate = workload.get("arrivals", "constant"), workload.get("rate", 0)
    if kind == "closed":
        return f"a closed loop of {workload.get('users', 1)} users"
    if kind == "ramp":
        return f"a ramp from {rate:g}/s to {workload.get('ramp_to') or rate:g}/s"
    if kind == "steps":
        return f"steps of {', '.join(f'{each:g}/s' for each in workload.get('steps', ()))}"
    return f"{kind} arrivals at {rate:g}/s"


def _content(workload: Mapping[str, Any]) -> str:
    if workload.get("trace"):
        return ""
    if workload.get("dataset"):
        return f"from {workload['dataset']}"
    return f"{workload.get('input_tokens', '')} input tokens"


def headlines(result: Result) -> Iterator[Headline]:
    """Yields the figures that matter most, those that were measured."""
    rates, counts = result.rates, result.requests
    yield Headline(
        "Finished",
        f"{number(rates.requests_finished)}/s",
        f"of {number(rates.requests_intended)}/s intended",
    )
    for name, found in (
        ("TTFT p95", result.ttft_ms),
        ("ITL p95", result.itl_ms),
        ("E2E p95", result.e2e_ms),
    ):
        if found is not None:
            yield Headline(name, milliseconds(found.p95), f"p50 {milliseconds(found.p50)}")
    if rates.output_tokens is not None:
        yield Headline("Output", f"{number(rates.output_tokens)}", "tokens per second")
    if result.goodput is not None:
        slo = ", ".join(result.goodput.slo)
        yield Headline("Goodput", share(result.goodput.share), slo)
    if result.cost is not None and result.cost.usd_per_million_tokens is not None:
        yield Headline("Cost", usd(result.cost.usd_per_million_tokens), "per million tokens")
    ended = counts.ok + counts.failed
    yield Headline(
        "Failed", share(counts.failed / ended if ended else None), f"{counts.failed:,} of {ended:,}"
    )


def warnings(result: Result) -> list[str]:
    """Returns what a reader must know before any figure."""
    found = [f"The client was the bottleneck: {result.client.because}."]
    stopped = ["The run was stopped before its end."] if result.was_stopped else []
    return (found if result.client.is_bottleneck else []) + stopped + result.notes
