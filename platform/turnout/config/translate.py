"""Turns pydantic's errors into problems: our paths, the closest known key, all at once."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from turnout.config.misplaced import hint, model_at
from turnout.config.problems import Document, Loc, Problem, closest

_TAG_AT = 2
"""Index of the union tag in the location of an application: ('applications', 1, 'model', …)."""
_ENTRY_TAG_AT = 5
"""And in that of a gateway's deployment: (…, 'gateway', 'deployments', 0, 'admin', …)."""


def problems_in(error: ValidationError, document: Document) -> list[Problem]:
    """Lists everything pydantic found, one problem per place."""
    found: dict[Loc, list[Problem]] = {}
    for detail in error.errors(include_url=False):
        loc, problem = _problem(detail, document)
        found.setdefault(loc, []).append(problem)
    return [
        _merged(problems)
        for loc, problems in found.items()
        if not _only_consequence(problems, loc, found)
    ]


def _problem(detail: ErrorDetails, document: Document) -> tuple[Loc, Problem]:
    typed = detail["loc"]
    loc = _in_file(typed, detail, document)
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        message = hint(model_at(typed[:-1]), typed[-1])
    elif kind == "missing":
        message, value = _required(typed), None
    elif kind == "literal_error":
        message = _choice(typed, value, detail)
    else:
        message = _in_our_words(detail["msg"])
    return loc, document.problem(loc, None if _may_be_secret(loc, value) else value, message)


def _may_be_secret(loc: Loc, value: object) -> bool:
    """Whether a value is an upstream's or has one in it: where a key is written by mistake."""
    return "upstream" in loc or (isinstance(value, Mapping) and "'upstream'" in repr(value))


def _in_file(typed: Loc, detail: ErrorDetails, document: Document) -> Loc:
    """Leaves out what pydantic adds to a location: union tags, `[key]`, names of types."""
    loc = tuple(
        part for place, part in enumerate(typed) if part != "[key]" and not _is_tag(place, typed)
    )
    if detail["type"] in ("missing", "extra_forbidden", "invalid_key"):
        return loc
    return document.existing(loc)


def _is_tag(place: int, typed: Loc) -> bool:
    if typed[0] != "applications":
        return False
    is_entry = typed[_TAG_AT : _TAG_AT + 2] == ("gateway", "deployments")
    return place == _TAG_AT or (place == _ENTRY_TAG_AT and is_entry)


def _required(typed: Loc) -> str:
    parent = model_at(typed[:-1])
    field = parent.model_fields.get(str(typed[-1])) if parent else None
    return f"missing: {field.description}" if field and field.description else "missing"


def _choice(typed: Loc, value: object, detail: ErrorDetails) -> str:
    context: Mapping[str, Any] = detail.get("ctx", {})
    known = str(context.get("expected", "")).replace(" or ", ", ").replace("'", "").split(", ")
    near = closest(value, known)
    subject = "unknown key: " if typed[-1] == "[key]" else ""
    verb = f"{near} One of" if near.startswith("did") else "should be one of"
    return f"{subject}{verb if len(known) > 1 else 'should be'} {', '.join(known)}"


def _in_our_words(said: str) -> str:
    said = re.sub(r"^(Value error, |(Input|String|Tuple|Dictionary) (?=should))", "", said)
    return said.replace("should be None", "should be null")


def _merged(problems: Sequence[Problem]) -> Problem:
    """One problem for a value that fits none of several types."""
    first = problems[0]
    message = ", or ".join(dict.fromkeys(problem.message for problem in problems))
    return Problem(first.path, first.value, message, first.line)


def _only_consequence(
    problems: Sequence[Problem], loc: Loc, found: Mapping[Loc, list[Problem]]
) -> bool:
    """Whether a list is 'too short' only because its items are wrong."""
    too_short = all("after validation" in problem.message for problem in problems)
    return too_short and any(other[: len(loc)] == loc and other != loc for other in found)
