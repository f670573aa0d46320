"""Days and months of budgets: calendar ones, UTC. Pure."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, NamedTuple

Period = Literal["day", "month"]
DAY_MS = 86_400_000


class Periods(NamedTuple):
    """When the day and the month of a moment began, in milliseconds since 1970."""

    day: int
    month: int


def periods_at(now_ms: int) -> Periods:
    """Returns the day and the month that a moment lies in."""
    return _periods_of(now_ms - now_ms % DAY_MS)


@lru_cache(maxsize=8)
def _periods_of(day_ms: int) -> Periods:
    return Periods(day_ms, month_start(day_ms))


def month_start(now_ms: int, later: int = 0) -> int:
    """Returns when the month of a moment began, or the one so many months `later`."""
    moment = datetime.fromtimestamp(now_ms // 1000, UTC)
    years, month = divmod(moment.year * 12 + moment.month - 1 + later, 12)
    return int(datetime(years, month + 1, 1, tzinfo=UTC).timestamp()) * 1000


def end_of(period: Period, now_ms: int) -> int:
    """Returns when the current day or month ends, in milliseconds since 1970."""
    if period == "day":
        return now_ms - now_ms % DAY_MS + DAY_MS
    return month_start(now_ms, later=1)
