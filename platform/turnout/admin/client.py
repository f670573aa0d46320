"""Calls the admin API, for the commands."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from turnout.admin.errors import AdminRefused, AdminUnreachable, BadValue, NoAdminKey
from turnout.admin.key import KEY, KEY_FILE, read_keys
from turnout.cluster.errors import NotRunning
from turnout.cluster.run_dir import RunDir

URL = "TURNOUT_ADMIN_URL"
TIMEOUT_S = 60
PIECE_BYTES = 65_536


@dataclass(frozen=True)
class AdminTarget:
    """Which admin API, and the key for it."""

    url: str
    key: str = field(repr=False)


def admin_target(
    environ: Mapping[str, str] = os.environ, run_dir: RunDir | None = None
) -> AdminTarget:
    """Returns what the environment says, and for what it leaves open the running deployment.

    Raises `NoAdminKey` where neither knows, or what `read_keys` raises.
    """
    url, key_file = environ.get(URL), None
    # A key of ours goes to another's URL only where the environment gives both.
    if not url:
        try:
            run = (run_dir or RunDir()).run()
        except NotRunning:
            raise NoAdminKey from None
        if not run.admin_url:
            raise NoAdminKey
        url, key_file = run.admin_url, Path(run.admin_key_file)
    elif not (environ.get(KEY) or environ.get(KEY_FILE)):
        raise NoAdminKey
    if urlsplit(url).scheme not in ("http", "https"):
        raise BadValue(URL, url, "http://HOST:PORT or https://…")
    return AdminTarget(url.rstrip("/"), read_keys(environ, key_file).first)


class AdminClient:
    """Calls an admin API; raises `AdminRefused` or `AdminUnreachable`."""

    def __init__(self, target: AdminTarget) -> None:
        self._target = target

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        **query: str | int | None,
    ) -> Any:
        """Returns the answer's JSON, None where it is empty; parameters of None are left out."""
        return json.loads(b"".join(self.pieces(method, path, body, **query)) or b"null")

    def pieces(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        **query: str | int | None,
    ) -> Iterator[bytes]:
        """Yields the answer's bytes as they come, however many they are."""
        told = urlencode({name: value for name, value in query.items() if value is not None})
        url = f"{self._target.url}{path}{'?' + told if told else ''}"
        headers = {"authorization": f"Bearer {self._target.key}"}
        data = None
        if body is not None:
            data, headers["content-type"] = json.dumps(body).encode(), "application/json"
        request = Request(url, data=data, headers=headers, method=method)
        try:
            with _opener(url).open(request, timeout=TIMEOUT_S) as answer:
                while piece := answer.read1(PIECE_BYTES):
                    yield piece
                if answer.length:  # read1 does not tell
                    raise IncompleteRead(b"", answer.length)
        except HTTPError as error:
            raise AdminRefused(error.code, _message(error)) from None
        except (URLError, OSError, HTTPException) as error:
            problem = str(getattr(error, "reason", error))
            raise AdminUnreachable(self._target.url, problem) from None

    def pages(self, path: str, cursor: str, **query: str | int | None) -> Iterator[dict[str, Any]]:
        """Yields a list's entries, page after page; `cursor` is the parameter that names a page."""
        at: str | int | None = None
        while True:
            page = self.call("GET", path, None, **{**query, cursor: at})
            yield from page["data"]
            at = page["next"]
            if at is None:
                return


def _opener(url: str) -> Any:
    """Returns an opener that follows the environment's proxies, except to this machine."""
    is_local = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
    return build_opener(ProxyHandler({})) if is_local else build_opener()


def _message(error: HTTPError) -> str:
    text = error.read()
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the admin API answered {error.code} {error.reason}"
