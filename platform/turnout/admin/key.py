"""The admin API's own key, apart from every team's: one, or one per person for the log to name."""

import hmac
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from turnout.admin.errors import MalformedAdminKeys, NoAdminKey, OpenAdminKeyFile, WeakAdminKey

KEY = "TURNOUT_ADMIN_KEY"
KEY_FILE = "TURNOUT_ADMIN_KEY_FILE"
ADMIN_KEY_FILE = "admin_key"
"""Below the state folder: the key that is made where none is given."""
SHORTEST, LONGEST = 16, 200
_LINE = re.compile(r"(?:([A-Za-z0-9][A-Za-z0-9._@-]{0,63})\s+)?([!-~]+)", re.ASCII)
_TOO_OPEN = 0o037
"""Others may do nothing, and only the owner may write. Kubernetes lets the group read secrets."""


class AdminKeys:
    """Keys and the name that the audit log gives to whoever holds one."""

    def __init__(self, by_name: Mapping[str, str]) -> None:
        self._by_name = {name: key.encode() for name, key in by_name.items()}

    def actor(self, presented: str | None) -> str | None:
        """Returns whose key was presented, or None; every key is compared, to its end."""
        text = (presented or "").encode()
        found = None
        for name, key in self._by_name.items():
            if hmac.compare_digest(key, text):
                found = name
        return found

    @property
    def first(self) -> str:
        """The key that comes first: what a command uses."""
        return next(iter(self._by_name.values())).decode()


def read_keys(environ: Mapping[str, str] = os.environ, default: Path | None = None) -> AdminKeys:
    """Returns the admin keys of `TURNOUT_ADMIN_KEY`, else of `TURNOUT_ADMIN_KEY_FILE` or `default`.

    Raises `NoAdminKey`, `OpenAdminKeyFile`, `WeakAdminKey` or `MalformedAdminKeys`.
    """
    if environ.get(KEY):
        return parse_keys(environ[KEY])
    path = Path(environ[KEY_FILE]) if environ.get(KEY_FILE) else default
    if path is None:
        raise NoAdminKey
    mode = path.stat().st_mode & 0o777
    if mode & _TOO_OPEN:
        raise OpenAdminKeyFile(str(path), mode)
    return parse_keys(path.read_text())


def parse_keys(text: str) -> AdminKeys:
    """Reads `KEY` or `NAME KEY` per line; a key without a name is `admin`'s."""
    by_name: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None or (match[1] or "admin") in by_name:
            raise MalformedAdminKeys(number)
        if not SHORTEST <= len(match[2]) <= LONGEST:
            raise WeakAdminKey(SHORTEST, LONGEST)
        by_name[match[1] or "admin"] = match[2]
    if not by_name:
        raise NoAdminKey
    return AdminKeys(by_name)


def make_key_file(path: Path) -> None:
    """Writes a new admin key to a file (mode 600), unless there is one already."""
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"sk-admin-{secrets.token_hex(32)}\n")
