"""What a usage report is asked for, and how it is read from a query string. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, floor, isfinite
from typing import Literal, get_args
from urllib.parse import parse_qsl

from turnout.errors import TurnoutError

Dimension = Literal["team", "key", "model", "market", "endpoint"]
Bucket = Literal["hour", "day"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
BUCKET_S: Mapping[Bucket, int] = {"hour": 3600, "day": 86400}
MAX_BUCKETS = 1000
HOUR_S, DAY_S = 3600, 86400
_NAMES = ("from", "to", "group_by", "bucket", "team", "key")


class BadQuestion(TurnoutError):
    """A parameter of a usage report that makes no sense."""

    def __init__(self, param: str, problem: str) -> None:
        super().__init__(param, problem)
        self.param, self.problem = param, problem

    def __str__(self) -> str:
        return f"invalid value for '{self.param}': {self.problem}"


@dataclass(frozen=True)
class Question:
    """Requests that came in from `from_s` until before `to_s`, summed up by some of their facts."""

    from_s: float
    to_s: float
    by: tuple[Dimension, ...] = ()
    bucket: Bucket | None = None
    team: str | None = None
    key: str | None = None

    @property
    def hours_s(self) -> tuple[int, int]:
        """The whole UTC hours that the range touches: capacity is known by the hour."""
        return floor(self.from_s / HOUR_S) * HOUR_S, ceil(self.to_s / HOUR_S) * HOUR_S


def parse_query(query: bytes) -> dict[str, str]:
    """Returns a query string's parameters; raises `BadQuestion` for one that is given twice."""
    params: dict[str, str] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name in params:
            raise BadQuestion(name[:64], "given more than once")
        params[name] = value
    return params


def parse_question(params: Mapping[str, str], now_s: float) -> Question:
    """Reads a question; by default the last 24 hours in one sum. Raises `BadQuestion`."""
    if unknown := sorted(set(params) - set(_NAMES)):
        raise BadQuestion(unknown[0][:64], f"there is no such parameter: use {', '.join(_NAMES)}")
    to_s = _moment("to", params["to"]) if "to" in params else now_s
    from_s = _moment("from", params["from"]) if "from" in params else to_s - DAY_S
    if from_s >= to_s:
        raise BadQuestion("from", f"{from_s:.0f} is not before 'to' ({to_s:.0f})")
    bucket = _bucket(params.get("bucket"))
    if bucket and (to_s - from_s) / BUCKET_S[bucket] > MAX_BUCKETS:
        raise BadQuestion("bucket", f"the range has more than {MAX_BUCKETS} of '{bucket}'")
    by = _dimensions(params.get("group_by", ""))
    return Question(from_s, to_s, by, bucket, params.get("team"), params.get("key"))


def _moment(param: str, text: str) -> float:
    """Reads seconds since 1970, a date, or a date and time (UTC where it names no zone)."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise BadQuestion(
                param, "write seconds since 1970, or a date or time such as 2026-01-31T12:00Z"
            ) from None
        seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if not isfinite(seconds) or not 0 <= seconds < 1e11:
        raise BadQuestion(param, "out of range")
    return seconds


def _bucket(text: str | None) -> Bucket | None:
    if text is None:
        return None
    for bucket in BUCKET_S:
        if text == bucket:
            return bucket
    raise BadQuestion("bucket", f"write {' or '.join(BUCKET_S)}")


def _dimensions(text: str) -> tuple[Dimension, ...]:
    asked = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in asked if name not in DIMENSIONS]:
        raise BadQuestion("group_by", f"'{unknown[0][:64]}' is none of {', '.join(DIMENSIONS)}")
    return tuple(name for name in DIMENSIONS if name in asked)
