"""The paths of files and batches, and the methods that each takes. Pure."""

import re
from collections.abc import Mapping

_PATH = re.compile(
    r"/v1/(?P<noun>files|batches)(?:/(?P<item>[A-Za-z0-9_-]{1,64})(?P<part>/content|/cancel)?)?",
    re.ASCII,
)
_METHODS: Mapping[str, tuple[str, ...]] = {
    "files": ("GET", "POST"),
    "files/{id}": ("GET", "DELETE"),
    "files/{id}/content": ("GET",),
    "batches": ("GET", "POST"),
    "batches/{id}": ("GET",),
    "batches/{id}/cancel": ("POST",),
}


def place_of(path: str) -> tuple[str, str]:
    """Returns what a path leads to (such as `files/{id}`) and the id in it; "" where nothing."""
    found = _PATH.fullmatch(path)
    if found is None:
        return "", ""
    item = "/{id}" if found["item"] else ""
    place = f"{found['noun']}{item}{found['part'] or ''}"
    return (place, found["item"] or "") if place in _METHODS else ("", "")


def methods_of(path: str) -> tuple[str, ...]:
    """Returns the methods that a path takes; none where nothing of ours is there."""
    return _METHODS.get(place_of(path)[0], ())
