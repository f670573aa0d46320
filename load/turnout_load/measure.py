"""Runs, with their facts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from turnout_load.environment import environment, peak_memory_mib
from turnout_load.errors import BadOption
from turnout_load.live import Snapshot
from turnout_load.metrics.cost import parse_prices
from turnout_load.metrics.goodput import parse_slo
from turnout_load.metrics.usage import joined
from turnout_load.records import Records
from turnout_load.result import Result
from turnout_load.run.over_ray import run_over_ray
from turnout_load.run.processes import run_processes
from turnout_load.spec import Spec
from turnout_load.summarize import Facts, summarize


def take(spec: Spec, tell: Callable[[Snapshot], None]) -> tuple[Records, Facts]:
    """Runs a spec on processes of this machine, or of a cluster; raises `LoadError`."""
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    outcomes, notes = (run_over_ray if spec.ray else run_processes)(spec, tell)
    records = Records()
    for outcome in outcomes:
        records.extend(outcome.records)
    return records, Facts(
        started_at=started_at,
        duration_s=max(outcome.duration_s for outcome in outcomes),
        was_stopped=any(outcome.was_stopped for outcome in outcomes),
        environment=environment(),
        processes=len(outcomes),
        cpu_share=max(outcome.cpu_share for outcome in outcomes),
        connections_opened=sum(outcome.connections_opened for outcome in outcomes),
        peak_in_flight=sum(outcome.peak_in_flight for outcome in outcomes),
        peak_memory_mib=peak_memory_mib() + sum(each.peak_memory_mib for each in outcomes),
        lengths=joined(outcome.lengths for outcome in outcomes),
        notes=(*notes, *dict.fromkeys(note for each in outcomes for note in each.notes)),
    )


def measure(spec: Spec, tell: Callable[[Snapshot], None]) -> tuple[Result, Records]:
    """Runs a spec and sums it up; raises `LoadError`, wrong SLOs and prices before it runs."""
    check_terms(spec)
    records, facts = take(spec, tell)
    return summarize(records, spec, facts), records


def check_terms(spec: Spec) -> None:
    """Raises `BadOption` where the SLO, a price or a number cannot be used."""
    parse_slo(spec.slo)
    parse_prices(spec.price)
    numbers = {
        "--processes": spec.processes,
        "--users": spec.workload.users,
        "--max-connections": spec.max_connections,
        "--request-timeout": spec.target.request_timeout_s,
        "--stall-timeout": spec.target.stall_timeout_s,
    }
    for option, number in numbers.items():
        if not 0 < number < float("inf"):
            raise BadOption(option, f"{number:g}", "a number above 0")
    if not 0 <= spec.warm_up_s < float("inf"):
        raise BadOption("--warm-up", f"{spec.warm_up_s:g}", "seconds, 0 or more")
