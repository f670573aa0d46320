"""Waits for what comes true by itself."""

from __future__ import annotations

import time
from collections.abc import Callable


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Tells whether something comes true in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.05)
    return False
