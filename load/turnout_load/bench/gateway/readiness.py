"""Waits until a system answers as it will be asked to."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from turnout_load.bench.gateway.processes import MARK, failed, marked
from turnout_load.bench.gateway.system import Endpoint, Stage

LONGEST_S = 240.0
POLL_S = 0.5


def await_answer(
    system: str, endpoint: Endpoint, stage: Stage, has_ended: Callable[[], bool]
) -> None:
    """Returns once a chat request is answered; raises `SystemFailed` when it will not be."""
    deadline, problem = time.monotonic() + LONGEST_S, "nothing was tried"
    while time.monotonic() < deadline:
        if has_ended():
            raise failed(system, "ended at its start", stage)
        try:
            answered(endpoint)
            break
        except HTTPError as error:
            problem = f"{error}: {error.read(300).decode(errors='replace')}"
            if error.code == 401:
                raise failed(system, f"refuses its key ({problem})", stage) from error
        except (OSError, HTTPException, ValueError) as error:
            problem = str(error) or type(error).__name__
        time.sleep(POLL_S)
    else:
        raise failed(system, f"does not answer within {LONGEST_S:g} s ({problem})", stage)
    if not marked(stage.mark):
        raise failed(system, f"none of its processes has {MARK} in its environment", stage)


def answered(endpoint: Endpoint) -> None:
    """Sends one chat request; raises `OSError` or `ValueError` unless it is answered well."""
    body = {
        "model": endpoint.model,
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 4,
    }
    headers = {"content-type": "application/json"}
    if endpoint.key_file is not None:
        headers["authorization"] = f"Bearer {endpoint.key_file.read_text().strip()}"
    request = Request(f"{endpoint.url}/chat/completions", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=15) as answer:
        if not json.load(answer).get("choices"):
            raise ValueError("an answer without choices")


def free_port() -> int:
    """Returns a TCP port that is free on 127.0.0.1 now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
