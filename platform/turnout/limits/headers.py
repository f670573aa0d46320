"""OpenAI's `x-ratelimit-*` headers. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from turnout.limits.amounts import UNIT


class Bucket(NamedTuple):
    """How full one limit's bucket is, in units."""

    level: int
    capacity: int

    @property
    def remaining(self) -> int:
        """Whole requests or tokens left."""
        return max(0, self.level // UNIT)

    @property
    def full_in_ms(self) -> int:
        """Milliseconds until it is full when nothing more is taken."""
        return wait_ms(self.capacity - self.level, self.capacity)


def wait_ms(missing: int, capacity: int) -> int:
    """Returns the milliseconds in which a bucket refills by `missing` units, rounded up."""
    per_ms = capacity // UNIT
    return -(-missing // per_ms) if per_ms else 0


def rate_limit_headers(kind: str, buckets: Sequence[Bucket]) -> dict[str, str]:
    """Returns limit, remaining and reset of the tightest bucket; nothing where there is none.

    `kind` is `requests` or `tokens`.
    """
    if not buckets:
        return {}
    tightest = min(buckets, key=lambda bucket: (bucket.level, bucket.capacity))
    return {
        f"x-ratelimit-limit-{kind}": str(tightest.capacity // UNIT),
        f"x-ratelimit-remaining-{kind}": str(tightest.remaining),
        f"x-ratelimit-reset-{kind}": duration(tightest.full_in_ms),
    }


def duration(ms: int) -> str:
    """Returns a duration as OpenAI writes it, which is Go's way: `120ms`, `1s`, `6m0s`."""
    if 0 < ms < 1000:
        return f"{ms}ms"
    minutes, rest_ms = divmod(ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest_ms / 1000:.3f}".rstrip("0").rstrip(".")
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
