"""Which media a request may bring: data in the body, and URLs of hosts that are allowed. Pure.

It is the engine that would fetch a URL, from inside the cluster: one that a client chose freely
reaches what the client cannot (server-side request forgery). URLs are matched strictly, so that
no two parsers can read two hosts in one.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from turnout.config.media_host import HOST
from turnout.gateway.errors import MediaRefused

_URL = re.compile(rf"https?://({HOST})(?::[0-9]{{1,5}})?(?:[/?#][!-\[\]-~]*)?", re.IGNORECASE)


def check_media(fields: Mapping[str, Any], hosts: Collection[str]) -> None:
    """Raises `MediaRefused` where a chat's message has a URL that engines may not fetch."""
    for index, message in enumerate(fields.get("messages") or ()):
        content = message.get("content")
        if isinstance(content, list):
            for number, part in enumerate(content):
                for url, at in _urls(part, f"messages[{index}].content[{number}]"):
                    _check(url, at, hosts)


def _check(url: str, at: str, hosts: Collection[str]) -> None:
    if url[:5].lower() == "data:":
        return
    if not hosts:
        raise MediaRefused(at, "this gateway takes media as data: URLs only")
    match = _URL.fullmatch(url)
    if match is None:
        raise MediaRefused(at, "must be a data: URL or a plain http(s) one")
    if match[1].lower() not in hosts:
        raise MediaRefused(at, f"media may come from {', '.join(hosts)} only")


def _urls(part: Mapping[str, Any], at: str) -> Iterator[tuple[str, str]]:
    """Yields the URLs of a content part, whatever its type says: engines go by the names, too."""
    for name, value in part.items():
        if isinstance(value, str):
            if name == "url" or name.endswith("_url"):
                yield value, f"{at}.{name}"
        elif isinstance(value, dict):
            yield from _urls(value, f"{at}.{name}")
        elif isinstance(value, list):
            for index, each in enumerate(value):
                if isinstance(each, dict):
                    yield from _urls(each, f"{at}.{name}[{index}]")
