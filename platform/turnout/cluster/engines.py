"""Finds the engines' own HTTP ports among the open ports of the run's processes."""

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request

import psutil

from turnout.cluster.local_http import open_local
from turnout.cluster.processes import listening

MOST_ASKED_AT_ONCE = 16


def engine_addresses(processes: Iterable[psutil.Process], key_file: Path) -> dict[str, list[str]]:
    """Returns each model's replica addresses on this machine, asking each open port, all at once.

    `key_file` holds the key of the replicas' ports; without it none is found.
    """
    key = key_file.read_text().strip() if key_file.exists() else ""
    replicas = [process for process in processes if process.name().startswith("ray::ServeRepli")]
    addresses = [f"http://{host}:{port}" for host, port, _pid in listening(replicas)]
    found: dict[str, list[str]] = {}
    with ThreadPoolExecutor(MOST_ASKED_AT_ONCE) as pool:
        models = pool.map(lambda address: _model_at(address, key), addresses)
        for address, model in zip(addresses, models, strict=True):
            if model:
                found.setdefault(model, []).append(address)
    return found


def _model_at(address: str, key: str) -> str | None:
    """Returns the model that vLLM's API at this address serves; None where there is no such API."""
    try:
        request = Request(f"{address}/v1/models", headers={"authorization": f"Bearer {key}"})
        with open_local(request, timeout_s=2) as answer:
            is_gateway = answer.headers.get("x-turnout-model") is not None
            models = json.loads(answer.read())["data"]
            return None if is_gateway else str(models[0]["id"])
    except (URLError, HTTPException, OSError, ValueError, LookupError, TypeError):
        return None
