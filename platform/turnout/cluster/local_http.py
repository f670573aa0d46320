"""HTTP to this machine: past any proxy that the environment sets for the world outside."""

from typing import Any
from urllib.request import ProxyHandler, Request, build_opener


def open_local(target: str | Request, timeout_s: float) -> Any:
    """Opens a URL on 127.0.0.1; raises what urllib raises."""
    return build_opener(ProxyHandler({})).open(target, timeout=timeout_s)
