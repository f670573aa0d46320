"""What an upstream's refusal means: the client's own fault, the operator's, or nobody's. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import msgspec

from turnout.gateway.engine_error import engine_error
from turnout.gateway.upstream.inbound import failure

REQUESTS_FAULT = frozenset((400, 413, 422))
"""Answers that the request's own client is told; every other one concerns the operator."""
TOO_MANY = 429
MOST_CHARACTERS = 1000
LONGEST_PAUSE_S = 300.0


class Refused(NamedTuple):
    """An error as an engine here would answer it."""

    status: int
    body: bytes


def refusal(status: int, body: bytes, key: str | None) -> Refused:
    """Returns the answer that stands for an upstream's error.

    A redirect, a key or a model that it does not know is not for clients to see as theirs: 502,
    which has another model stand in where there is one.
    """
    if status not in REQUESTS_FAULT:
        kind = "failed" if status >= 500 else "does not take this gateway's requests"
        return Refused(502, msgspec.json.encode(failure(f"{kind} (status {status})")))
    said = engine_error(status, body, "").body()["error"]
    said["message"] = without(str(said["message"]), key)[:MOST_CHARACTERS]
    said["param"] = said["param"] if isinstance(said["param"], str) else None
    return Refused(status, msgspec.json.encode({"error": said}))


def without(message: str, key: str | None) -> str:
    """Returns a message without the key, should it repeat it."""
    return message.replace(key, "…") if key else message


def retry_after_s(header: str | None, now: datetime) -> float | None:
    """Returns the seconds that a Retry-After header asks for; None where it says nothing."""
    if header is None:
        return None
    text = header.strip()
    try:
        wait_s = float(text) if text[:1].isdigit() else _until_s(text, now)
    except (ValueError, OverflowError):
        return None
    return min(max(wait_s, 0.0), LONGEST_PAUSE_S)


def _until_s(date: str, now: datetime) -> float:
    at = parsedate_to_datetime(date)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now.timestamp()
