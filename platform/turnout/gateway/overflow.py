"""Which model takes a request over from one that is saturated. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from turnout.config.settings import ModelSettings
from turnout.gateway.overload.urgency import Priority


@dataclass(frozen=True)
class TakeOver:
    """That another model answers, and why."""

    model: str
    because: str


def take_over(
    name: str,
    model: ModelSettings,
    priority: Priority,
    saturation: Callable[[str], float],
    may_answer: Callable[[str], bool],
) -> TakeOver | None:
    """Returns who answers instead of a model from its threshold on; None where it does itself.

    `batch` requests wait, as nobody waits for them. Nobody is sent to a model that is full, too.
    """
    overflow = model.overflow
    if overflow is None or priority is Priority.BATCH:
        return None
    share = saturation(name)
    if share < overflow.at or saturation(overflow.to) >= 1 or not may_answer(overflow.to):
        return None
    full = f"at {share:.0%} of its places" if share < float("inf") else "without a replica"
    return TakeOver(overflow.to, f"{name} is {full}, {overflow.to} takes over")
