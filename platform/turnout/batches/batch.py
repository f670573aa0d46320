"""A batch, its states and how it is shown. Pure; times are seconds since 1970.

validating ─► in_progress ─► finalizing ─► completed
     │             ├─► expired     (what was done is kept, the rest is told as expired)
     ├─────────────┼─► cancelling ─► cancelled
     └─► failed ◄──┘     (a line that cannot be read; a key that is live no more)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal[
    "validating",
    "in_progress",
    "finalizing",
    "completed",
    "failed",
    "expired",
    "cancelling",
    "cancelled",
]
Step = Literal["validate", "run", "complete", "expire", "cancel", "none"]
LIVE: tuple[Status, ...] = ("validating", "in_progress", "finalizing", "cancelling")
"""Those that somebody must work on."""
CANCELLABLE: tuple[Status, ...] = ("validating", "in_progress")
WINDOW_S = 86_400.0
"""`completion_window: 24h`, the only one there is."""
_MOMENTS: tuple[Status, ...] = (
    "in_progress",
    "finalizing",
    "completed",
    "failed",
    "expired",
    "cancelling",
    "cancelled",
)


@dataclass(frozen=True)
class Batch:
    """A batch as it is stored."""

    id: str
    team: str
    key_id: str
    endpoint: str
    input_file_id: str
    labels: Mapping[str, str] | None
    created_at_s: float
    expires_at_s: float
    status: Status = "validating"
    errors: Sequence[Mapping[str, Any]] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    total: int = 0
    completed: int = 0
    failed: int = 0
    in_progress_at_s: float | None = None
    finalizing_at_s: float | None = None
    completed_at_s: float | None = None
    failed_at_s: float | None = None
    expired_at_s: float | None = None
    cancelling_at_s: float | None = None
    cancelled_at_s: float | None = None
    worker: str | None = None
    lease_until_s: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.status not in LIVE


def next_step(batch: Batch, now_s: float) -> Step:
    """Returns what is to be done with a batch."""
    if batch.is_over:
        return "none"
    if batch.status == "cancelling":
        return "cancel"
    if batch.status == "finalizing":
        return "complete"
    if now_s >= batch.expires_at_s:
        return "expire"
    return "validate" if batch.status == "validating" else "run"


def as_json(batch: Batch) -> dict[str, Any]:
    """Returns a batch in OpenAI's shape."""
    errors = None
    if batch.errors is not None:
        errors = {"object": "list", "data": list(batch.errors)}
    moments = {
        f"{name}_at": _whole(getattr(batch, f"{name}_at_s")) for name in ("created", "expires")
    }
    moments |= {f"{name}_at": _whole(getattr(batch, f"{name}_at_s")) for name in _MOMENTS}
    counts = {"total": batch.total, "completed": batch.completed, "failed": batch.failed}
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "errors": errors,
        "input_file_id": batch.input_file_id,
        "completion_window": "24h",
        "status": batch.status,
        "output_file_id": batch.output_file_id,
        "error_file_id": batch.error_file_id,
        **moments,
        "request_counts": counts,
        "metadata": batch.labels,
    }


def _whole(at_s: float | None) -> int | None:
    return None if at_s is None else int(at_s)
