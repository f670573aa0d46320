"""Half an hour at 80% of what the gateway carries: do memory or descriptors grow?

    python -m turnout_load.bench.gateway.soak --out docs/results/soak.json

The system of `make bench-gateway`, alone on one core. Half minutes of whole answers and of streams
take turns, each at its own share of what was measured first, in open loop.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from turnout_load.bench.gateway.driver import ENGINE, Load, Run, drive
from turnout_load.bench.gateway.processes import marked
from turnout_load.bench.gateway.system import Endpoint, Stage
from turnout_load.bench.gateway.turnout import Turnout
from turnout_load.bench.outcome import Cell, Outcome, save
from turnout_load.bench.peers import two_cpus
from turnout_load.environment import environment
from turnout_load.errors import LoadError
from turnout_load.mock.process import started

KINDS = (Load("whole", 64), Load("stream", 64, stream=True))
PROBE_S, WINDOW_S, WARM_UP_S = 10.0, 30.0, 300.0
MEDIAN_OF = 5
"""Looks at the beginning and at the end whose medians are compared."""
LARGEST = 6
ALL = "all processes"


@dataclass(frozen=True)
class Look:
    """What every process had at a moment, summed by name."""

    at_s: float
    rss_mb: Mapping[str, float]
    descriptors: Mapping[str, int]


def look(mark: str, at_s: float) -> Look:
    """Looks at all processes of the system."""
    rss: defaultdict[str, float] = defaultdict(float)
    descriptors: defaultdict[str, int] = defaultdict(int)
    for process in marked(mark):
        with suppress(psutil.Error), process.oneshot():
            megabytes, count = process.memory_info().rss / 1e6, process.num_fds()
            for name in (process.name(), ALL):
                rss[name] += megabytes
                descriptors[name] += count
    return Look(at_s, dict(rss), dict(descriptors))


def rows(looks: Sequence[Look]) -> list[list[Cell]]:
    """Returns what the largest processes had at the warm-up's end and at the run's. Pure."""
    after = [each for each in looks if each.at_s >= WARM_UP_S]
    size = len(after) // 2 if len(after) < 2 * MEDIAN_OF else MEDIAN_OF
    first, last = after[:size], after[-size:]
    names = sorted(last[-1].rss_mb, key=lambda name: -last[-1].rss_mb[name])[: LARGEST + 1]
    found: list[list[Cell]] = []
    for name in names:
        before_mb, now_mb = (
            statistics.median(each.rss_mb.get(name, 0.0) for each in part) for part in (first, last)
        )
        before, now = (
            statistics.median(each.descriptors.get(name, 0) for each in part)
            for part in (first, last)
        )
        grew = 100 * (now_mb - before_mb) / before_mb if before_mb else None
        found.append([name, before_mb, now_mb, grew, before, now])
    return found


COLUMNS = [
    *("process", "RSS after 5 min, MB", "RSS at the end, MB", "grew by, %"),
    *("descriptors after 5 min", "descriptors at the end"),
]


def soaked(
    endpoint: Endpoint, stage: Stage, options: argparse.Namespace
) -> tuple[list[Look], dict[str, float], list[Run]]:
    """Returns the looks, the rates by kind, and what every window gave."""
    for load in KINDS:
        drive(endpoint, load, 2.0, options.seed)
    rates = {
        load.name: options.share * drive(endpoint, load, PROBE_S, options.seed).rps
        for load in KINDS
    }
    begun_s = time.monotonic()
    looks, runs = [look(stage.mark, 0.0)], list[Run]()
    while (at_s := time.monotonic() - begun_s) < options.minutes * 60:
        load = KINDS[len(runs) % len(KINDS)]
        seed = options.seed + len(runs)
        runs.append(drive(endpoint, load, WINDOW_S, seed, rate=rates[load.name]))
        looks.append(look(stage.mark, time.monotonic() - begun_s))
        total = looks[-1]
        sys.stderr.write(
            f"{at_s:5.0f} s {load.name}: {runs[-1].rps:.0f}/s, {len(runs[-1].failures)} failed; "
            f"{total.rss_mb[ALL]:.1f} MB, {total.descriptors[ALL]} descriptors\n"
        )
    return looks, rates, runs


def main(argv: Sequence[str] | None = None) -> None:
    """Measures and writes the results as JSON; a refusal is one sentence and exit code 2."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="where to write the outcome")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--share", type=float, default=0.8, help="of what it carries")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends what was started, too
    try:
        ours, cpu = two_cpus()
        os.sched_setaffinity(0, {ours})
        with tempfile.TemporaryDirectory() as scratch, started(ENGINE, ours) as mock:
            python = Path(sys.executable)
            stage = Stage(mock, Path(scratch), python, cpu, secrets.token_hex(8))
            with Turnout().started(stage) as endpoint:
                looks, rates, runs = soaked(endpoint, stage, options)
    except LoadError as refused:
        sys.stderr.write(f"{refused}\n")
        sys.exit(2)
    save(outcome(options, looks, rates, runs), options.out)


def outcome(
    options: argparse.Namespace,
    looks: Sequence[Look],
    rates: Mapping[str, float],
    runs: Sequence[Run],
) -> Outcome:
    """Returns the table with all that it was made of."""
    answered = sum(run.answered for run in runs)
    failed = sum(len(run.failures) for run in runs)
    told = ", ".join(f"{rate:.0f}/s {name}" for name, rate in rates.items())
    return Outcome(
        title="Half an hour at 80% load",
        question="Do memory or open descriptors grow once the gateway is warm?",
        command="make bench-soak",
        environment=environment("ray"),
        seed=options.seed,
        columns=COLUMNS,
        rows=rows(looks),
        notes=[
            f"{options.minutes:g} minutes of {told} in turn, Poisson arrivals: {options.share:.0%} "
            f"of what 64 users get; {answered:,} requests answered, {failed} failed.",
            f"Medians of {MEDIAN_OF} looks, half a minute apart, after the first five minutes and "
            "at the end. All of Ray's daemons are in the sum.",
        ],
        details={
            "looks": [
                {"at_s": each.at_s, "rss_mb": each.rss_mb, "descriptors": each.descriptors}
                for each in looks
            ]
        },
    )


if __name__ == "__main__":
    main()
