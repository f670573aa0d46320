"""From records to a run's figures: pure, so one set of records always gives one result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from turnout_load.client.target import shown_url
from turnout_load.metrics.client import bottleneck
from turnout_load.metrics.cost import cost, parse_prices
from turnout_load.metrics.e2e import E2E
from turnout_load.metrics.error_kinds import error_kinds
from turnout_load.metrics.goodput import goodput, parse_slo
from turnout_load.metrics.groups import groups
from turnout_load.metrics.itl import pooled_itl_ms
from turnout_load.metrics.metric import S, measure
from turnout_load.metrics.model_share import model_share
from turnout_load.metrics.normalized_latency import NORMALIZED_LATENCY
from turnout_load.metrics.output_tps import OUTPUT_TPS
from turnout_load.metrics.prefix_cache import prefix_cache
from turnout_load.metrics.send_delay import SEND_DELAY
from turnout_load.metrics.throughput import throughput
from turnout_load.metrics.tokens import known
from turnout_load.metrics.tpot import TPOT
from turnout_load.metrics.ttft import TTFT
from turnout_load.metrics.usage import Lengths, usage_check
from turnout_load.record import UNKNOWN
from turnout_load.records import Records
from turnout_load.result import Client, Counts, Result
from turnout_load.spec import Spec
from turnout_load.stats.percentiles import distribution

UNFINISHED = "unfinished"
HIDDEN = "hidden"
"""Stands for the value of a header."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What only the place where a run happened can tell."""

    started_at: str
    """UTC, ISO 8601."""
    duration_s: float
    was_stopped: bool
    environment: Mapping[str, Any]
    processes: int
    cpu_share: float
    """Of one core, by the busiest process."""
    connections_opened: int
    peak_in_flight: int
    """Requests under way at once, in all processes."""
    peak_memory_mib: float
    notes: tuple[str, ...] = ()
    lengths: Lengths = field(default_factory=Lengths)


def summarize(records: Records, spec: Spec, facts: Facts) -> Result:
    """Returns the figures of a run, whose `records.gaps` leave the warm-up out.

    Requests intended before the warm-up's end are only counted; so are those that were under way
    when the run was stopped. Latencies are those of whole answers, send delay also of requests
    that failed. Raises BadOption if the SLO or a price cannot be read.
    """
    warm_up_ns = spec.warm_up_s * S
    measured = records.where(sent >= warm_up_ns for sent in records.column("intended_ns"))
    finished = measured.where(error != UNFINISHED for error in measured.column("error"))
    answered = finished.where(not error for error in finished.column("error"))
    rates = throughput(measured, answered, spec.warm_up_s)
    send_delay_ms = measure(SEND_DELAY, finished)
    return Result(
        started_at=facts.started_at,
        duration_s=facts.duration_s,
        was_stopped=facts.was_stopped,
        spec=_without_secrets(spec),
        environment=dict(facts.environment),
        requests=Counts(
            sent=len(measured),
            ok=len(answered),
            failed=len(finished) - len(answered),
            unfinished=len(measured) - len(finished),
            warm_up=len(records) - len(measured),
        ),
        rates=rates,
        ttft_ms=measure(TTFT, answered),
        itl_ms=pooled_itl_ms(records.gaps, answered),
        tpot_ms=measure(TPOT, answered),
        e2e_ms=measure(E2E, answered),
        normalized_latency_ms_per_token=measure(NORMALIZED_LATENCY, answered),
        output_tps=measure(OUTPUT_TPS, answered),
        send_delay_ms=send_delay_ms,
        input_tokens=distribution(known(answered.column("input_tokens"))),
        output_tokens=distribution(known(answered.column("output_tokens"))),
        goodput=goodput(finished, parse_slo(spec.slo), rates.measured_s),
        cost=cost(answered, spec, rates.measured_s),
        prefix_cache=prefix_cache(answered),
        usage_check=usage_check(facts.lengths),
        models=model_share(answered, parse_prices(spec.price)),
        groups=groups(finished),
        errors=error_kinds(record for record in finished if not record.ok),
        client=_client(facts, spec, finished),
        notes=[*facts.notes, *_notes(answered, finished)],
    )


def _client(facts: Facts, spec: Spec, finished: Records) -> Client:
    """Judges the client by requests that no connection was opened for: that is the network's."""
    kept = finished.where(not connected for connected in finished.column("connected"))
    problem = bottleneck(
        facts.cpu_share,
        facts.peak_in_flight,
        spec.max_connections * facts.processes,
        measure(SEND_DELAY, kept),
    )
    return Client(
        processes=facts.processes,
        cpu_share=facts.cpu_share,
        is_bottleneck=problem is not None,
        because=problem or "no process was short of CPU, and requests were sent on time",
        connections_opened=facts.connections_opened,
        peak_in_flight=facts.peak_in_flight,
        peak_memory_mib=facts.peak_memory_mib,
    )


def _without_secrets(spec: Spec) -> dict[str, Any]:
    target = msgspec.structs.replace(
        spec.target,
        url=shown_url(spec.target.url),
        headers=dict.fromkeys(spec.target.headers, HIDDEN),
    )
    described: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(spec, target=target))
    return described


def _notes(answered: Records, finished: Records) -> list[str]:
    notes = []
    if silent := list(answered.column("output_tokens")).count(UNKNOWN):
        notes.append(f"answers without usage: {silent}; figures that count tokens leave them out")
    if limited := list(finished.column("error")).count("client"):
        notes.append(
            f"{limited} requests failed for want of this machine's own files or ports: "
            "they say nothing about the server"
        )
    return notes
