"""A bound that a figure must keep, read from a text such as `ttft.p95<500ms`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from turnout_load.errors import BadOption

UNITS: Mapping[str, Mapping[str, Decimal]] = {
    "time": {
        "ns": Decimal("1e-6"),
        "us": Decimal("1e-3"),
        "ms": Decimal(1),
        "s": Decimal(1000),
    },
    "share": {"": Decimal(1), "%": Decimal("0.01")},
    "number": {"": Decimal(1)},
}
"""What may follow the limit, by what is measured, and what it makes of it: times become ms."""
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FORM = re.compile(
    r"\s*(?P<name>[\w.]+)\s*(?P<comparison>[<>]=?)\s*(?P<limit>\d+(\.\d+)?)\s*(?P<unit>[a-zA-Z%]*)\s*"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure's name and the bound that it must keep."""

    text: str
    name: str
    kind: str
    """What is measured: `time`, `share` or `number`."""
    comparison: str
    limit: float
    """In milliseconds for times, as a fraction for shares."""

    def holds(self, value: float | None) -> bool:
        """Says whether the value keeps the bound; what was not measured does not."""
        return value is not None and COMPARISONS[self.comparison](value, self.limit)


def parse(option: str, text: str, kinds: Mapping[str, str], names: str) -> Condition:
    """Reads a condition on one of the figures in `kinds`, which says what is measured by each.

    Raises BadOption, whose text has `names` for what may stand on the left.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise BadOption(option, text, f"NAME<LIMIT (or <=, >, >=), NAME being {names}")
    kind = kinds.get(form["name"])
    if kind is None:
        raise BadOption(option, text, f"{names} in place of {form['name']!r}")
    scale = UNITS[kind].get(form["unit"])
    if scale is None:
        units = ", ".join(unit or "no unit" for unit in UNITS[kind])
        raise BadOption(option, text, f"a limit with one of: {units}")
    limit = float(Decimal(form["limit"]) * scale)
    return Condition(text.strip(), form["name"], kind, form["comparison"], limit)
