"""The commands' exit codes."""

from __future__ import annotations

from turnout_load.result import Result

MISSED, REFUSED, NOTHING_ANSWERED = 1, 2, 3


def exit_code(result: Result, all_hold: bool) -> int:
    """Returns 0, or 3 where nothing was answered well, or 1 where something does not hold."""
    if not result.requests.ok:
        return NOTHING_ANSWERED
    return 0 if all_hold else MISSED
