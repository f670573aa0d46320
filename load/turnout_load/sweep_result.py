"""What `sweep` found: a run at each rate, and the highest one that met the SLO."""

from __future__ import annotations

from turnout_load.result import Result
from turnout_load.spec import Struct

SCHEMA_VERSION = 1


class SweepPoint(Struct, frozen=True):
    """One rate that was tried."""

    rate: float
    """Conversations started per second."""
    meets_slo: bool
    because: str
    """Which figure decided it."""
    result: Result


class SweepResult(Struct, frozen=True, kw_only=True):
    """Every rate that was tried, in the order of the trials."""

    schema_version: int = SCHEMA_VERSION
    slo: list[str]
    points: list[SweepPoint]
    highest_rate: float | None
    """The highest rate that met the SLO; null where none did."""
    knee: float | None
    """The rate past which latency grows faster than throughput; null where none is seen."""
    notes: list[str]
