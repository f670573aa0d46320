"""How urgent a request is: its priority and its deadline, as its client or this process says. Pure.

x-turnout-priority: interactive | normal | batch
x-turnout-deadline-ms: milliseconds from the request's arrival to its first token
"""

from collections.abc import Mapping
from enum import IntEnum

from turnout.gateway.errors import InvalidField

PRIORITY_HEADER, DEADLINE_HEADER = b"x-turnout-priority", b"x-turnout-deadline-ms"
LONGEST_DEADLINE_MS = 86_400_000


class Priority(IntEnum):
    """Who goes first; `BATCH` takes only what nobody else wants."""

    INTERACTIVE = 0
    NORMAL = 1
    BATCH = 2


_BY_NAME = {priority.name.lower().encode(): priority for priority in Priority}


def priority_of(headers: Mapping[bytes, bytes], told: str | None) -> Priority:
    """Returns a request's priority; `told` is what this process says of it, which wins.

    Raises `InvalidField` where the name is none of the three.
    """
    name = told.encode() if told is not None else headers.get(PRIORITY_HEADER)
    if name is None:
        return Priority.NORMAL
    priority = _BY_NAME.get(name.strip().lower())
    if priority is None:
        raise InvalidField(PRIORITY_HEADER.decode(), "must be interactive, normal or batch")
    return priority


def deadline_s(headers: Mapping[bytes, bytes]) -> float | None:
    """Returns the seconds a request leaves for its first token; raises `InvalidField`."""
    sent = headers.get(DEADLINE_HEADER)
    if sent is None:
        return None
    text = sent.strip()
    # At most nine digits: longer numbers cost time to read.
    milliseconds = int(text) if text.isdigit() and len(text) < 10 else 0
    if not 1 <= milliseconds <= LONGEST_DEADLINE_MS:
        problem = f"must be a whole number of milliseconds, 1 to {LONGEST_DEADLINE_MS}"
        raise InvalidField(DEADLINE_HEADER.decode(), problem)
    return milliseconds / 1000
