"""How guidellm 0.8 is driven and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnout_load.bench.peer import Command, Figures, Files, Load

IN_FLIGHT = 32
"""Its worker polls for as many requests as it may have: with its own limit of 10,240 one core sends
a fifth of what it does with this one."""


class Guidellm:
    """vLLM project's GuideLLM, with one worker process: it is given one core."""

    name = "guidellm"
    locks: str | None = "guidellm.txt"

    def command(self, python: Path, load: Load, files: Files) -> Command:
        """Returns `guidellm run` with a configuration file."""
        config = files.folder / "guidellm.json"
        argv = (str(python.parent / "guidellm"), "run", "--config", str(config))
        return Command(
            (*argv, "--disable-console"),
            inputs={config: json.dumps({"spec": self._spec(load, files)}, indent=2)},
            environment={"GUIDELLM__MAX_WORKER_PROCESSES": "1", "HF_HUB_OFFLINE": "1"},
        )

    def _spec(self, load: Load, files: Files) -> dict[str, Any]:
        return {
            "backend": {
                "kind": "openai_http",
                "target": load.address,
                "model": load.model,
                "stream": load.stream,
                "max_tokens": load.output_tokens,
                "validate_backend": False,
                "http2": False,
                **({"extras": {"body": {"ignore_eos": True}}} if load.exact_output else {}),
            },
            "profile": self._profile(load),
            "constraints": [self._end(load)],
            "tokenizer": {"kind": "huggingface_auto", "model": str(files.tokenizer)},
            "data": [{"kind": "json_file", "path": str(files.prompts)}],
            "seed": {"kind": "static", "value": load.seed},
            "metrics": {"kind": "generative", "sample_size": 0},
            "outputs": [{"kind": "json", "path": str(self.report(files))}],
        }

    def _profile(self, load: Load) -> dict[str, Any]:
        if load.arrivals == "closed":
            return {"kind": "concurrent", "streams": [load.users]}
        return {"kind": load.arrivals, "rate": [load.rate], "max_concurrency": IN_FLIGHT}

    def _end(self, load: Load) -> dict[str, Any]:
        if load.requests is not None:
            return {"kind": "max_requests", "count": load.requests}
        return {"kind": "max_duration", "seconds": load.duration_s}

    def report(self, files: Files) -> Path:
        """Returns where its report is."""
        return files.folder / "benchmarks.json"

    def figures(self, report: Mapping[str, Any]) -> Figures:
        """Reads its report: times from its own send time; it tells no single gaps."""
        metrics = report["benchmarks"][0]["metrics"]
        names = {
            "ttft_ms": "time_to_first_token_ms",
            "request_itl_ms": "inter_token_latency_ms",
        }
        return {true: metrics[name]["successful"]["percentiles"] for true, name in names.items()}
