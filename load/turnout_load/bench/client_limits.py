"""The client's own limits: memory over a long run, the rate of one core, and its installed size."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from turnout_load.bench.outcome import Outcome, save
from turnout_load.environment import environment
from turnout_load.live import Snapshot
from turnout_load.measure import measure
from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings
from turnout_load.result import Result
from turnout_load.spec import Spec, Target, Workload

RATE = 2500.0


def run(url: str, requests: int, rate: float, stream: bool) -> Result:
    """Sends short requests at a rate and returns the result."""
    spec = Spec(
        target=Target(url=url, model="m", stream=stream),
        workload=Workload(
            arrivals="poisson", rate=rate, input_tokens="fixed:8", output_tokens="fixed:4"
        ),
        requests=requests,
    )
    return measure(spec, _quiet)[0]


def highest_rate(url: str) -> Result:
    """Returns the result at the highest rate, in steps of 500/s, that the client keeps up with."""
    best, rate = run(url, 4000, 1000.0, stream=False), 1500.0
    while rate <= 20_000:
        result = run(url, round(rate * 4), rate, stream=False)
        kept_up = result.rates.requests_finished >= 0.97 * rate
        if not kept_up or result.requests.failed:
            break
        best, rate = result, rate + 500
    return best


def installed_mib(project: Path) -> float:
    """Installs the load tool alone into an empty folder; returns its size with all it needs."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--target",
                folder,
                str(project.resolve()),
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files) / 2**20


def _quiet(_: Snapshot) -> None:
    """Shows nothing."""


def main() -> None:
    """Measures and saves the outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", type=Path, default=Path("load"), help="its pyproject's folder")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    with started(MockSettings(whole_ms=0), cpu=cpus[-1]) as address:
        os.sched_setaffinity(0, {cpus[0]})  # the client's processes inherit it: one core
        few = run(f"{address}/v1", 10_000, RATE, stream=False)
        many = run(f"{address}/v1", 100_000, RATE, stream=False)
        best = highest_rate(f"{address}/v1")
        os.sched_setaffinity(0, set(cpus))
    size_mib = installed_mib(options.project)
    delay = best.send_delay_ms
    save(
        Outcome(
            title="The load tool's own limits",
            question="How much can one core of the client send, does its memory grow, "
            "and how large is it?",
            command="make bench-client",
            environment=environment("msgspec", "httptools", "uvloop"),
            seed=0,
            columns=["figure", "measured", "goal"],
            rows=[
                ["open-loop requests/s of one core", best.rates.requests_finished, "≥ 3,000"],
                ["… send delay p99 at that rate, ms", delay.p99 if delay else None, ""],
                ["… failed requests", best.requests.failed, ""],
                ["peak memory of 10,000 requests, MiB", few.client.peak_memory_mib, ""],
                ["peak memory of 100,000 requests, MiB", many.client.peak_memory_mib, "bounded"],
                [
                    "bytes for each further request",
                    (many.client.peak_memory_mib - few.client.peak_memory_mib) * 2**20 / 90_000,
                    "",
                ],
                ["installed size with all it needs, MiB", size_mib, "≤ 60"],
            ],
            notes=["Short requests, not streamed, Poisson arrivals; the mock has the other core."],
        ),
        options.out,
    )


if __name__ == "__main__":
    main()
