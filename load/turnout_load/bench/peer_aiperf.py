"""How aiperf 0.13 is driven and read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnout_load.bench.peer import Command, Figures, Files, Load


class Aiperf:
    """NVIDIA AIPerf, with one worker and one record processor: it is given one core."""

    name = "aiperf"
    locks: str | None = "aiperf.txt"

    def command(self, python: Path, load: Load, files: Files) -> Command:
        """Returns `aiperf profile …`."""
        settings = {
            "model": load.model,
            "url": load.address,
            "endpoint-type": "chat",
            "tokenizer": str(files.tokenizer),
            "input-file": str(files.prompts),
            "custom-dataset-type": "single_turn",
            "osl": str(load.output_tokens),
            "random-seed": str(load.seed),
            "ui": "none",
            "artifact-dir": str(files.folder),
            "workers-max": "1",
            "record-processors": "1",
            "export-level": "summary",
            **self._arrivals(load),
            **self._end(load),
        }
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        flags = ["--use-server-token-count", "--no-gpu-telemetry", "--no-server-metrics"]
        streaming = ["--streaming"] if load.stream else []
        exact = ["--extra-inputs", '{"ignore_eos": true}'] if load.exact_output else []
        argv = (str(python.parent / "aiperf"), "profile", *options, *flags, *streaming, *exact)
        return Command(argv)

    def _arrivals(self, load: Load) -> dict[str, str]:
        if load.arrivals == "closed":
            return {"concurrency": str(load.users)}
        return {"request-rate": f"{load.rate:g}", "arrival-pattern": load.arrivals}

    def _end(self, load: Load) -> dict[str, str]:
        if load.requests is not None:
            return {"request-count": str(load.requests)}
        return {"benchmark-duration": f"{load.duration_s:g}"}

    def report(self, files: Files) -> Path:
        """Returns where its summary is."""
        return files.folder / "profile_export_aiperf.json"

    def figures(self, report: Mapping[str, Any]) -> Figures:
        """Reads its summary: times from its own send time, both kinds of gaps."""
        return {
            "ttft_ms": report["time_to_first_token"],
            "itl_ms": report["inter_chunk_latency"],
            "request_itl_ms": report["inter_token_latency"],
        }
