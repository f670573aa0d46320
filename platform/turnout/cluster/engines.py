"""Finds the engines' own HTTP ports among the open ports of the run's processes."""

import json
from collections.abc import Iterable
from http.client import HTTPException
from urllib.error import URLError

import psutil

from turnout.cluster.local_http import open_local
from turnout.cluster.processes import listening


def engine_addresses(processes: Iterable[psutil.Process]) -> dict[str, list[str]]:
    """Returns each model's replica addresses on this machine, asking each open port."""
    replicas = [process for process in processes if process.name().startswith("ray::ServeRepli")]
    found: dict[str, list[str]] = {}
    for host, port, _pid in listening(replicas):
        if model := _model_at(address := f"http://{host}:{port}"):
            found.setdefault(model, []).append(address)
    return found


def _model_at(address: str) -> str | None:
    """Returns the model that vLLM's API at this address serves; None where there is no such API."""
    try:
        with open_local(f"{address}/v1/models", timeout_s=2) as answer:
            is_gateway = answer.headers.get("x-turnout-model") is not None
            models = json.loads(answer.read())["data"]
            return None if is_gateway else str(models[0]["id"])
    except (URLError, HTTPException, OSError, ValueError, LookupError, TypeError):
        return None
