"""Which rate to ask for next, in search of the highest that a tool really sends. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

KEPT_UP = 0.98
"""Share of the asked rate that must have been sent."""
CLOSE_ENOUGH = 1.1
"""The search ends with a rate kept up with and one not kept up with this near to each other."""


@dataclass(frozen=True)
class Step:
    """A rate asked for, and what arrived at the server; requests a second."""

    asked: float
    sent: float

    @property
    def keeps_up(self) -> bool:
        """Says whether the tool sent what it was asked to."""
        return self.sent >= KEPT_UP * self.asked


def sent_per_s(requests: int, arrivals_s: float, duration_s: float) -> float:
    """Returns the rate that was sent: over the run, and longer where it was late with the rest."""
    return requests / max(arrivals_s, duration_s)


def next_rate(start: float, steps: Sequence[Step]) -> float | None:
    """Returns the rate to ask for: doubled or halved, then between; None when it is found."""
    kept = [step.asked for step in steps if step.keeps_up]
    failed = [step.asked for step in steps if not step.keeps_up]
    if not steps:
        return start
    if not failed:
        return max(kept) * 2
    lowest = min(failed)
    if not kept:
        return lowest / 2 if lowest > 1 else None
    highest = max(kept)
    if lowest / highest <= CLOSE_ENOUGH:
        return None
    return float(f"{(highest * lowest) ** 0.5:.3g}")
