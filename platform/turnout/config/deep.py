"""Checks config files down to vLLM's, Ray's and Serve's own classes, in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from turnout.config.errors import EngineCheckFailed
from turnout.config.load import read
from turnout.config.problems import Problem

_TIMEOUT_S = 300
# A check asks no model hub and no GPU; vLLM logs much by default.
_QUIET = {"VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1", "RAY_SERVE_LOG_TO_STDERR": "0"}


def deep_check(paths: Sequence[Path]) -> dict[Path, list[Problem]]:
    """Lists what vLLM, Ray and Serve refuse, per file (also where it has other mistakes).

    One process for all files, as its imports take many seconds. Raises `EngineCheckFailed`.
    """
    # By name: this package may not import turnout_deployments. -P: never from the current folder.
    command = [sys.executable, "-P", "-m", "turnout_deployments.check", *map(str, paths)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIMEOUT_S,
            env={**os.environ, **_QUIET},
        )
        found = json.loads(done.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:
        raise EngineCheckFailed(_last_line(error.stderr)) from error
    except subprocess.TimeoutExpired as error:
        raise EngineCheckFailed(f"no answer within {_TIMEOUT_S} s") from error
    except (IndexError, ValueError) as error:
        raise EngineCheckFailed("its answer could not be read") from error
    return {path: _problems(path, found[str(path)]) for path in paths}


def _problems(path: Path, findings: Sequence[dict[str, object]]) -> list[Problem]:
    document = read(path)
    return [
        document.problem(_loc(each["loc"]), each["value"], str(each["message"]))
        for each in findings
    ]


def _loc(value: object) -> tuple[str | int, ...]:
    parts = value if isinstance(value, list) else []
    return tuple(part if isinstance(part, int) else str(part) for part in parts)


def _last_line(stderr: str) -> str:
    lines = stderr.strip().splitlines()
    return lines[-1] if lines else "it ended without a word"
