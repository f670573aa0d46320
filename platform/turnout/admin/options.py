"""Reads options of the commands: durations and limits."""

import re
from collections.abc import Sequence

from turnout.admin.errors import BadValue

LIMITS = (
    "requests_per_minute",
    "tokens_per_minute",
    "concurrent_requests",
    "usd_per_day",
    "usd_per_month",
    "alert_share",
)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])", re.ASCII)


def seconds(option: str, text: str) -> float:
    """Returns a duration such as `90s`, `15m`, `12h` or `30d` in seconds; raises `BadValue`."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise BadValue(option, text, "a number with s, m, h or d, such as 12h")
    return float(match[1]) * _UNITS[match[2]]


def limits(texts: Sequence[str]) -> dict[str, float]:
    """Returns limits given as `name=value`; raises `BadValue`."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in LIMITS:
            raise BadValue("--limit", text, f"NAME=VALUE with a name of {', '.join(LIMITS)}")
        try:
            number = float(value.replace("_", ""))
        except ValueError:
            raise BadValue("--limit", text, f"a number after {name}=") from None
        found[name] = int(number) if number.is_integer() else number
    return found
