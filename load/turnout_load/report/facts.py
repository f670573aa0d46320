"""What the reports tell of a run, as text in tables: the same for HTML and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from turnout_load.report.table import Table
from turnout_load.report.units import milliseconds, number, percent, seconds, share, usd
from turnout_load.result import Distribution, Result

WITH_INTERVAL = ("p50", "p95", "p99")
ON_USAGE = (
    "Usage is checked for each process's first answers after the warm-up, 256 at most. A text cut "
    "into tokens again may give a few more or fewer than were generated, and servers count the "
    "token that ends an answer. Of a chat's prompt the texts alone are counted: the template's "
    "tokens come on top."
)


def latencies(result: Result) -> Table:
    """Returns the percentiles in ms, with their 95% confidence intervals where there are any."""
    head = ("ms", "p50", "p75", "p90", "p95", "p99", "p99.9", "mean", "max", "of")
    measured = {
        "TTFT": result.ttft_ms,
        "ITL": result.itl_ms,
        "TPOT": result.tpot_ms,
        "E2E": result.e2e_ms,
        "per output token": result.normalized_latency_ms_per_token,
        "send delay": result.send_delay_ms,
    }
    rows = [
        (name, *(percentile(found, each) for each in head[1:-1]), f"{found.count:,}")
        for name, found in measured.items()
        if found is not None
    ]
    return Table(head, rows)


def percentile(found: Distribution, name: str) -> str:
    """Returns a figure of a distribution; under p50, p95 and p99 stands the interval."""
    value = number(getattr(found, name.replace(".", "_")))
    interval = found.ci95.get(name) if name in WITH_INTERVAL else None
    if interval is None:
        return value
    low, high = map(number, interval)
    return f"{value}\n({low} to {high})"


def throughput(result: Result) -> Table:
    """Returns the rates and counts of a run."""
    rates, counts = result.rates, result.requests
    rows = [
        ("requests", f"{counts.sent:,} sent, {counts.ok:,} ok, {counts.failed:,} failed"),
        ("measured time", seconds(rates.measured_s)),
        ("requests intended", f"{number(rates.requests_intended)}/s"),
        ("requests finished", f"{number(rates.requests_finished)}/s"),
    ]
    if counts.unfinished or counts.warm_up:
        left = f"{counts.warm_up:,} in the warm-up, {counts.unfinished:,} unfinished"
        rows.insert(1, ("in no figure", left))
    if rates.input_tokens is not None:
        rows.append(("input tokens", f"{number(rates.input_tokens)}/s"))
    if rates.output_tokens is not None:
        rows.append(("output tokens", f"{number(rates.output_tokens)}/s"))
    if result.output_tps is not None:
        rows.append(("of one request", f"p50 {number(result.output_tps.p50)} tokens/s"))
    if result.prefix_cache is not None:
        rows.append(("prompt tokens from cache", share(result.prefix_cache.share)))
    return Table(("throughput", ""), rows)


def goodput(result: Result) -> Table | None:
    """Returns how many requests met the SLO, and which parts of it others missed."""
    found = result.goodput
    if found is None:
        return None
    met = (f"all of {', '.join(found.slo)}", share(found.share))
    rows = [met, ("met per second", number(found.requests_per_s))]
    rows += [(f"missed: {part}", f"{count:,}") for part, count in found.missed.items()]
    return Table(("goodput", ""), rows)


def cost(result: Result) -> Table | None:
    """Returns what the run's tokens cost."""
    found = result.cost
    if found is None:
        return None
    rows = [
        ("the run", usd(found.usd)),
        ("per million tokens", usd(found.usd_per_million_tokens)),
        ("per million output tokens", usd(found.usd_per_million_output_tokens)),
        ("from", found.because),
    ]
    return Table(("cost", ""), rows)


def models(result: Result) -> Table:
    """Returns the models that answered, by the name they gave."""
    head = ("model", "requests", "share", "output tokens", "TTFT p95", "E2E p95", "cost")
    rows = [
        (
            name or "not told",
            f"{used.requests:,}",
            share(used.share),
            f"{used.output_tokens:,}",
            milliseconds(used.ttft_ms.p95 if used.ttft_ms else None),
            milliseconds(used.e2e_ms.p95 if used.e2e_ms else None),
            usd(used.usd),
        )
        for name, used in result.models.items()
    ]
    return Table(head, rows, verbatim=frozenset({0}))


def groups(result: Result) -> Table:
    """Returns the parts of a mix: what each team and priority saw."""
    head = ("team", "requests", "failed", "TTFT p50", "TTFT p95", "E2E p50", "E2E p95")
    rows = []
    for name, group in result.groups.items():
        latencies = [
            milliseconds(getattr(found, each) if found else None)
            for found in (group.ttft_ms, group.e2e_ms)
            for each in ("p50", "p95")
        ]
        rows.append((name, f"{group.requests:,}", f"{group.failed:,}", *latencies))
    return Table(head, rows, verbatim=frozenset({0}))


def errors(result: Result) -> Table:
    """Returns the failures by kind, each with an example of what happened."""
    ended = result.requests.ok + result.requests.failed
    rows = [
        (kind, f"{found.count:,}", share(found.count / ended if ended else None), found.example)
        for kind, found in result.errors.items()
    ]
    return Table(("error", "requests", "share", "example"), rows, verbatim=frozenset({0, 3}))


def usage(result: Result) -> Table:
    """Returns what the server told of lengths beside what the tokenizer counts."""
    found = result.usage_check
    checks = {"output": found.output, "prompt": found.prompt} if found else {}
    rows = [
        (
            name,
            f"{check.answers:,}",
            f"{check.by_server:,}",
            f"{check.by_tokenizer:,}",
            percent(check.difference_percent),
            f"{check.apart:,}",
        )
        for name, check in checks.items()
        if check is not None
    ]
    head = ("tokens", "answers", "by the server", "by the tokenizer", "difference", "over 2 apart")
    return Table(head, rows)


def client(result: Result) -> Table:
    """Returns how the client itself fared."""
    found = result.client
    rows = [
        ("processes", f"{found.processes}"),
        ("CPU of the busiest", f"{share(found.cpu_share)} of a core"),
        ("connections opened", f"{found.connections_opened:,}"),
        ("most requests in flight", f"{found.peak_in_flight:,}"),
        ("memory at most", f"{number(found.peak_memory_mib)} MiB"),
    ]
    if result.send_delay_ms is not None:
        rows.append(("sent late, p99", milliseconds(result.send_delay_ms.p99)))
    return Table(("client", ""), rows)


def settings(title: str, values: Mapping[str, Any]) -> Table:
    """Returns nested settings as rows of dotted names, without those that are not set."""
    return Table((title, ""), list(_flat("", values)), frozenset({1}), frozenset({0, 1}))


def _flat(prefix: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{name}.", value)
        elif value not in (None, "", [], ()):
            shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            yield f"{prefix}{name}", shown
