"""What tests make a run's figures of, where no run is needed."""

from __future__ import annotations

from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.summarize import Facts

FACTS = Facts(
    started_at="2026-01-01T00:00:00+00:00",
    duration_s=10.0,
    was_stopped=False,
    environment={},
    processes=1,
    cpu_share=0.1,
    connections_opened=1,
    peak_in_flight=1,
    peak_memory_mib=1.0,
)


def records_of(*several: Record) -> Records:
    """Returns these records, without gaps."""
    records = Records()
    for record in several:
        records.append(record)
    return records
