"""What an answer means for its line: it is done, or it is asked again later. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

MOST_LOSSES = 3
"""Answers that broke off before a line counts as failed: one may break every engine it meets."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0


@dataclass(frozen=True)
class Answer:
    """What the gateway answered: header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Again:
    """The line is to be asked again; nothing is until then."""

    after_s: float
    is_loss: bool = False


def judge(answer: Answer, refusals: int, losses: int) -> Again | None:
    """Returns when to ask again, None where the answer is the line's.

    A limit or a model that is not ready is no fault of the line's, however often it happens.
    """
    if answer.status not in (429, 503):
        return None
    is_loss = answer.status == 503 and _is_loss(answer)
    if is_loss and losses + 1 >= MOST_LOSSES:
        return None
    told = answer.headers.get("retry-after", "")
    pause_s = float(told) if told.isdigit() else FIRST_PAUSE_S * 2.0 ** min(refusals, 6)
    return Again(min(pause_s, LONGEST_PAUSE_S), is_loss)


def _is_loss(answer: Answer) -> bool:
    """Tells an engine's fault from a refusal: the gateway's own refusals say when to come back."""
    if "retry-after" not in answer.headers:
        return True
    try:
        return bool(json.loads(answer.body)["error"]["code"] == "replica_lost")
    except (ValueError, KeyError, TypeError):
        return False
