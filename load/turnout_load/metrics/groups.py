"""What each part of a mix saw: requests by team and priority."""

from __future__ import annotations

from turnout_load.metrics.e2e import E2E
from turnout_load.metrics.metric import measure
from turnout_load.metrics.ttft import TTFT
from turnout_load.record import UNKNOWN, Record
from turnout_load.records import Records
from turnout_load.result import Group


def groups(finished: Records) -> dict[str, Group]:
    """Returns figures by `team@priority`, as a mix names its parts; none without a mix."""
    names = [_name(record) for record in finished]
    if not any(names):
        return {}
    return {
        name: _group(finished.where(each == name for each in names)) for name in sorted(set(names))
    }


def _group(records: Records) -> Group:
    answered = records.where(not error for error in records.column("error"))
    return Group(
        requests=len(records),
        failed=len(records) - len(answered),
        ttft_ms=measure(TTFT, answered),
        e2e_ms=measure(E2E, answered),
    )


def _name(record: Record) -> str:
    return record.team if record.priority == UNKNOWN else f"{record.team}@{record.priority}"
