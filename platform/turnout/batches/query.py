"""Reads the parameters of lists. Pure."""

import re
from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl

from turnout.gateway.errors import InvalidField

MOST_PARAMS = 16
_WORD = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def params_of(query: bytes, known: Collection[str]) -> Mapping[str, str]:
    """Returns a query's parameters; raises `InvalidField`."""
    try:
        pairs = parse_qsl(query.decode("latin-1"), max_num_fields=MOST_PARAMS)
    except ValueError:
        raise InvalidField("query", f"more than {MOST_PARAMS} parameters") from None
    params = dict(pairs)
    for name, value in params.items():
        if name not in known:
            raise InvalidField(name[:64], f"unknown parameter: use {', '.join(known)}")
        if not _WORD.fullmatch(value):
            raise InvalidField(name, "must be letters, digits, '-' and '_', 64 at most")
    return params


def limit_of(params: Mapping[str, str], usual: int, most: int) -> int:
    """Returns how many are asked for; raises `InvalidField`."""
    text = params.get("limit", str(usual))
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= most):
        raise InvalidField("limit", f"must be a whole number from 1 to {most}")
    return int(text)
