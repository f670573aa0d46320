"""Errors of the chat that another API's request became, in that API's words. Pure."""

import re
from collections.abc import Mapping

from turnout.gateway.errors import ContextLengthExceeded, EngineRefused, RequestError

_IN_TEXT = re.compile(
    r"\b(?:max_completion_tokens|max_tokens|response_format|reasoning_effort|tool_call_id)\b"
)
"""Names that are no ordinary words."""


def in_words(error: RequestError, names: Mapping[str, str]) -> RequestError:
    """Returns an error with chat's fields by other names.

    Only windows and engines are told of chat's fields; other errors name the client's own.
    """
    if isinstance(error, ContextLengthExceeded):
        return ContextLengthExceeded(_text(error, names), _field(error.param, names) or "")
    if isinstance(error, EngineRefused):
        param = _field(error.param, names)
        return EngineRefused(error.status, _text(error, names), error.type, param)
    return error


def _text(error: RequestError, names: Mapping[str, str]) -> str:
    return _IN_TEXT.sub(lambda found: names.get(found[0], found[0]), str(error))


def _field(param: str | None, names: Mapping[str, str]) -> str | None:
    """Returns the client's field; places within it are other ones in the client's request."""
    field = re.split(r"[.\[]", param)[0] if param else None
    return names.get(field, field) if field else None
