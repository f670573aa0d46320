"""How a study goes on from one of its runs to the next. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from turnout_load.records import Records
from turnout_load.spec import Spec


def onward(spec: Spec, *taken: Records) -> Spec:
    """Returns the spec of the next run: other bytes and times, the dataset's next conversations.

    So no run asks for what the one before it left in a prefix cache. A trace ends: it goes on only
    where a number of requests says how much of it each run takes, else it begins again.
    """
    workload = spec.workload
    if workload.trace is None or spec.requests is not None:
        last = max((index for records in taken for index in records.column("index")), default=-1)
        workload = replace(workload, skip=workload.skip + last + 1)
    return replace(spec, workload=workload, seed=spec.seed + 1)
