"""What a worker tells while it runs, from its latest records."""

from __future__ import annotations

from collections.abc import Sequence

from turnout_load.live import Snapshot
from turnout_load.record import UNKNOWN, Record
from turnout_load.run.sender import Sender

RECENT = 100
"""Requests that current percentiles are taken from."""


def snapshot(sender: Sender, elapsed_s: float, planned_s: float | None) -> Snapshot:
    """Returns counts of all requests and percentiles of the latest ones."""
    records = sender.records
    recent = [records[number] for number in range(max(0, len(records) - RECENT), len(records))]
    good = [record for record in recent if record.ok]
    span_s = _span_s(recent)
    return Snapshot(
        elapsed_s=elapsed_s,
        planned_s=planned_s,
        sent=sender.sent,
        ok=len(records) - sum(sender.errors.values()),
        failed=sum(sender.errors.values()),
        in_flight=sender.in_flight,
        rate_intended=sender.sent / elapsed_s if elapsed_s else 0.0,
        rate_finished=len(recent) / span_s if span_s else 0.0,
        output_tokens_per_s=(
            sum(max(0, record.output_tokens) for record in good) / span_s if span_s else 0.0
        ),
        ttft_ms=_percentiles([r.first_ns - r.intended_ns for r in good if r.first_ns != UNKNOWN]),
        itl_ms=_percentiles(
            [
                (r.last_ns - r.first_ns) // (r.chunks - 1)
                for r in good
                if r.chunks > 1 and r.first_ns != UNKNOWN
            ]
        ),
        e2e_ms=_percentiles([r.end_ns - r.intended_ns for r in good]),
        send_delay_p99_ms=(
            _percentiles([r.sent_ns - r.intended_ns for r in recent if r.sent_ns != UNKNOWN])
            or (0.0, 0.0, 0.0)
        )[2],
        errors=dict(sender.errors),
    )


def _span_s(recent: Sequence[Record]) -> float:
    if not recent:
        return 0.0
    ends = [record.end_ns for record in recent]
    return (max(ends) - min(record.intended_ns for record in recent)) / 1e9


def _percentiles(values_ns: list[int]) -> tuple[float, float, float] | None:
    if not values_ns:
        return None
    values_ns.sort()
    last = len(values_ns) - 1
    p50, p95, p99 = (values_ns[round(last * share)] / 1e6 for share in (0.5, 0.95, 0.99))
    return p50, p95, p99
