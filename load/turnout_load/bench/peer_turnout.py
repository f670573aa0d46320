"""How this tool itself is driven and read, as any other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnout_load.bench.inputs import PROMPT_WORDS
from turnout_load.bench.peer import Command, Figures, Files, Load


class Turnout:
    """`turnout-load`, in one process."""

    name = "turnout-load"
    locks: str | None = None

    def command(self, python: Path, load: Load, files: Files) -> Command:
        """Returns `turnout-load run …`."""
        settings = {
            "url": f"{load.address}/v1",
            "model": load.model,
            "arrivals": load.arrivals,
            "rate": f"{load.rate:g}",
            "users": str(load.users),
            "input-tokens": f"fixed:{PROMPT_WORDS}",
            "output-tokens": f"fixed:{load.output_tokens}",
            "seed": str(load.seed),
            "out": str(files.folder),
            **self._end(load),
        }
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        stream = "--stream" if load.stream else "--no-stream"
        exact = ["--exact-output"] if load.exact_output else []
        return Command((str(python), "-m", "turnout_load", "run", *options, *exact, stream))

    def _end(self, load: Load) -> dict[str, str]:
        if load.requests is not None:
            return {"requests": str(load.requests)}
        return {"duration": f"{load.duration_s:g}"}

    def report(self, files: Files) -> Path:
        """Returns where its result is."""
        return files.folder / "result.json"

    def figures(self, report: Mapping[str, Any]) -> Figures:
        """Reads its result: times from the intended send time; with one token a chunk, TPOT is
        the mean gap.
        """
        return {
            "ttft_ms": report["ttft_ms"],
            "itl_ms": report["itl_ms"],
            "request_itl_ms": report["tpot_ms"],
        }
