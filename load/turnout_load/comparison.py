"""What `compare` found: two deployments under the same requests, in interleaved rounds."""

from __future__ import annotations

from turnout_load.result import Result
from turnout_load.spec import Struct

SCHEMA_VERSION = 1


class MetricDifference(Struct, frozen=True):
    """One metric of both sides, and how sure the difference between them is."""

    name: str
    """`ttft.p95`, `itl_mean.p50` (of each request's mean gap), `cost.mean`."""
    a: float
    b: float
    """Both in the metric's own unit: ms, tokens per second, or USD per request."""
    difference_percent: float
    """(b - a) / a: negative where B's figure is the smaller one."""
    ci95_percent: tuple[float, float] | None
    """Its 95% confidence interval; null where there are too few pairs for one."""
    verdict: str
    """A sentence, made by `report.verdict.verdict`, or why there is none."""


class Comparison(Struct, frozen=True, kw_only=True):
    """Two deployments side by side."""

    schema_version: int = SCHEMA_VERSION
    a: str
    b: str
    """What the reader calls them: a URL, a model, or a name of the user's own."""
    rounds: int
    pairs: int
    """Requests that both sides answered."""
    metrics: list[MetricDifference]
    a_result: Result
    b_result: Result
    share_by_model: dict[str, tuple[float, float]]
    """Shares of A's and of B's requests, by the model that answered."""
    notes: list[str]
