"""Shares of teams and priorities, such as `search=0.7,batch@5=0.3`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from turnout_load.errors import BadOption

FORM = re.compile(r"([^@=,]+)(?:@(-?\d+))?=(\d+(?:\.\d*)?|\.\d+)")


@dataclass(frozen=True, slots=True)
class Group:
    """A team, and the priority of its requests if they have one."""

    team: str
    priority: int | None


@dataclass(frozen=True, slots=True)
class Mix:
    """Groups, with the sums of their shares up to and with each."""

    groups: tuple[Group, ...]
    sums: tuple[float, ...]

    def draw(self, rng: Random) -> Group:
        """Returns one group, as often as its share of all shares says."""
        return rng.choices(self.groups, cum_weights=self.sums)[0]


def mix(text: str) -> Mix:
    """Reads the option; shares need not add up to 1. Raises BadOption."""
    parts = [FORM.fullmatch(part.strip()) for part in text.split(",")]
    groups = tuple(Group(part[1], int(part[2]) if part[2] else None) for part in parts if part)
    sums = tuple(accumulate(float(part[3]) for part in parts if part))
    if not all(parts) or not sums[-1]:
        raise BadOption("--mix", text, "team=share or team@priority=share, with commas between")
    return Mix(groups, sums)
