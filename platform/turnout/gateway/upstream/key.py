"""The key of an upstream, from the environment or a mounted secret; never from the config file."""

import logging
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from turnout.config.upstream_settings import UpstreamSettings

log = logging.getLogger(__name__)
FRESH_S = 1.0
"""How soon a new key is used."""
MOST_BYTES = 16_384
_PLAIN = re.compile(r"[!-~]+")


class KeySource:
    """Reads a key again when it may have changed."""

    def __init__(
        self, model: str, settings: UpstreamSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model, self._clock = model, clock
        self._variable, self._file = settings.api_key_env, settings.api_key_file
        self._key: str | None = None
        self._fresh_until_s = -1.0
        self._was_missing = False

    @property
    def is_needed(self) -> bool:
        """Whether the settings name a key."""
        return self._variable is not None or self._file is not None

    @property
    def is_missing(self) -> bool:
        """Whether a key is needed and there is none."""
        return self.is_needed and self.key() is None

    def key(self) -> str | None:
        """Returns the key; None where none is needed, or none that can be sent is there."""
        now_s = self._clock()
        if now_s >= self._fresh_until_s:
            self._fresh_until_s = now_s + FRESH_S
            self._key = self._read()
            self._tell()
        return self._key

    def forget(self) -> None:
        """Has the key read anew: it was refused, and may have changed just now."""
        self._fresh_until_s = -1.0

    def _read(self) -> str | None:
        found = os.environ.get(self._variable, "") if self._variable else ""
        if self._file is not None:
            try:
                with Path(self._file).open("rb") as file:
                    found = file.read(MOST_BYTES).decode("ascii")
            except (OSError, UnicodeDecodeError):
                return None
        found = found.strip()
        return found if _PLAIN.fullmatch(found) else None

    def _tell(self) -> None:
        """Logs where a key should be, once, and never what is there."""
        is_missing = self.is_needed and self._key is None
        if is_missing and not self._was_missing:
            where = self._variable or self._file
            log.warning("upstream_key_missing", extra={"model": self._model, "where": where})
        self._was_missing = is_missing
