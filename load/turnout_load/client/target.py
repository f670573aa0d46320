"""A target's address and the unchanging part of every request to it."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from turnout_load.errors import BadData, BadOption
from turnout_load.spec import Target

PATHS = {"chat": "/chat/completions", "completions": "/completions"}


@dataclass(frozen=True)
class Origin:
    """Where to connect, and the head that every request starts with."""

    host: str
    port: int
    is_tls: bool
    ca_file: str | None
    head: bytes
    """Request line and headers, up to the value of content-length."""
    secrets: tuple[str, ...]
    """What may stand in no result: the key, and the values of the user's own headers."""

    def tls(self) -> ssl.SSLContext | None:
        """Returns the context of a TLS connection; raises `BadData` for a wrong ca_file."""
        if not self.is_tls:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as wrong:
            raise BadData(str(self.ca_file), None, f"not a file of certificates: {wrong}") from None

    def payload(self, body: bytes) -> bytes:
        """Returns the whole request with this body."""
        return b"%b%d\r\n\r\n%b" % (self.head, len(body), body)


def origin(target: Target, environment: Mapping[str, str]) -> Origin:
    """Reads a target; raises `BadOption` or `BadData` where it cannot be used."""
    split = urlsplit(target.url)
    try:
        port = split.port
    except ValueError:
        raise BadOption("--url", target.url, "a port from 0 to 65535") from None
    if split.scheme not in {"http", "https"} or not split.hostname:
        raise BadOption("--url", target.url, "an address such as http://127.0.0.1:8000/v1")
    if "@" in split.netloc:
        shown = f"{split.scheme}://…@{split.netloc.rpartition('@')[2]}"
        raise BadOption("--url", shown, "no user in it: use --header authorization=…")
    if target.endpoint not in PATHS:
        raise BadOption("--endpoint", target.endpoint, " or ".join(PATHS))
    path = split.path.rstrip("/") + PATHS[target.endpoint]
    if split.query:
        path += f"?{split.query}"
    key = _key(target, environment)
    headers = {
        "host": split.netloc,
        "user-agent": "turnout-load",
        "accept": "text/event-stream" if target.stream else "application/json",
        "content-type": "application/json",
        **({"authorization": f"Bearer {key}"} if key else {}),
        **{name.lower(): value for name, value in target.headers.items()},
    }
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    for line in lines:
        if not line.isprintable() or not line.isascii():
            raise BadOption("--header", line.partition(":")[0], "printable ASCII on one line")
    is_tls = split.scheme == "https"
    head = "\r\n".join([*lines, "content-length: "]).encode()
    secrets = (*target.headers.values(), key)
    return Origin(
        split.hostname,
        port or (443 if is_tls else 80),
        is_tls,
        target.ca_file,
        head,
        tuple(each for each in secrets if each),
    )


def shown_url(url: str) -> str:
    """Returns an address as results may show it: without a user and a query that hold secrets."""
    scheme, mark, rest = url.partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def _key(target: Target, environment: Mapping[str, str]) -> str:
    if not target.api_key_file:
        return environment.get(target.api_key_env, "")
    try:
        return Path(target.api_key_file).read_text().strip()
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadData(target.api_key_file, None, f"no key can be read: {wrong}") from None
