"""What a gateway answers in time when it is asked for three times what its replicas can answer.

    python -m turnout_load.bench.overload --out docs/results/overload.json

Two echo replicas with few places; a request counts where its first token came by its deadline. With
the gateway's waiting room and without it, with priorities, and without deadlines (a full queue).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from turnout_load.bench.outcome import Cell, Outcome, save
from turnout_load.bench.overload_system import (
    ANSWER_S,
    MODEL,
    PER_S,
    PLACES,
    REPLICAS,
    TOKENS,
    system,
)
from turnout_load.environment import environment
from turnout_load.errors import LoadError
from turnout_load.live import Snapshot
from turnout_load.measure import take
from turnout_load.metrics.ttft import ttft_ms
from turnout_load.record import Record
from turnout_load.spec import Spec, Target, Workload
from turnout_load.stats.percentiles import quantile

REFUSED = (429, 503)
MOST_WAITING = 100


@dataclass(frozen=True)
class Case:
    """One system under one load."""

    name: str
    loads: Mapping[str, float]
    """Times what replicas can answer, by priority."""
    has_deadlines: bool = True
    is_bounded: bool = True
    """Whether the gateway knows how many places there are."""
    longer: float = 1.0
    """Times the ordinary duration."""


CASES = (
    Case("1x", {"normal": 1.0}),
    Case("3x", {"normal": 3.0}, longer=2.0),
    Case("3x by priority", {"interactive": 0.5, "normal": 2.5}),
    Case("3x, no deadlines sent", {"normal": 3.0}, has_deadlines=False, longer=1.5),
    Case("3x, no waiting room", {"normal": 3.0}, has_deadlines=False, is_bounded=False),
)


@dataclass(frozen=True)
class Measured:
    """What one case gave."""

    records: Mapping[str, Sequence[Record]]
    """By priority, those of the warm-up left out."""
    lasted_s: float
    rss_mib: Sequence[float] = ()


def measured(options: argparse.Namespace, folder: Path, case: Case) -> Measured:
    """Starts a case's system, sends its load, and ends it."""
    duration_s = options.duration * case.longer
    gateway = system(folder, is_bounded=case.is_bounded, most_waiting=MOST_WAITING)
    with gateway as (url, memory), ThreadPoolExecutor() as pool:
        sent = {
            priority: pool.submit(take, _spec(options, case, url, priority), _quiet)
            for priority in case.loads
        }
        records = {
            priority: _after(options.warm_up, future.result()[0])
            for priority, future in sent.items()
        }
    result = Measured(records, duration_s - options.warm_up, memory.rss_mib)
    for row in rows(case, result, options.deadline_ms):
        sys.stderr.write(f"{row}\n")
    return result


def _spec(options: argparse.Namespace, case: Case, url: str, priority: str) -> Spec:
    headers = {"x-turnout-priority": priority}
    if case.has_deadlines:
        headers["x-turnout-deadline-ms"] = str(options.deadline_ms)
    rate = PER_S * case.loads[priority]
    return Spec(
        target=Target(url=url, model=MODEL, headers=headers),
        workload=Workload(arrivals="poisson", rate=rate, output_tokens=f"fixed:{TOKENS}"),
        duration_s=options.duration * case.longer,
        seed=options.seed + sorted(case.loads).index(priority),
    )


def _after(warm_up_s: float, records: Iterable[Record]) -> list[Record]:
    return [each for each in records if each.intended_ns >= warm_up_s * 1e9]


def _quiet(_: Snapshot) -> None:
    """Shows nothing."""


COLUMNS = [
    *("load", "asked/s", "in time/s", "late/s", "refused/s", "failed"),
    *("TTFT p50, ms", "TTFT p95, ms", "gateway's memory by quarters, MiB"),
]


def rows(case: Case, result: Measured, deadline_ms: float) -> list[list[Cell]]:
    """Returns a row for each priority. Pure."""
    several = len(result.records) > 1
    return [
        [
            f"{case.name}: {priority}" if several else case.name,
            *_counts(records, result.lasted_s, deadline_ms),
            " / ".join(f"{each:.0f}" for each in quarters(result.rss_mib)),
        ]
        for priority, records in result.records.items()
    ]


def _counts(records: Sequence[Record], lasted_s: float, deadline_ms: float) -> list[Cell]:
    answered = [each for each in records if each.ok]
    ttft = sorted(value for each in answered if (value := ttft_ms(each)) is not None)
    in_time = sum(value <= deadline_ms for value in ttft)
    refused = sum(not each.ok and each.status in REFUSED for each in records)
    rates = (len(records), in_time, len(answered) - in_time, refused)
    return [
        *(round(count / lasted_s, 1) for count in rates),
        len(records) - len(answered) - refused,
        *((round(quantile(ttft, share), 1) if ttft else None) for share in (0.5, 0.95)),
    ]


def _errors(result: Measured) -> dict[str, int]:
    """Returns how often requests ended with each status and kind of error."""
    every = [each for records in result.records.values() for each in records if not each.ok]
    return dict(Counter(f"{each.status} {each.error}" for each in every))


def quarters(values: Sequence[float]) -> list[float]:
    """Returns the highest value of each quarter; fewer where there are not so many."""
    size = -(-len(values) // 4)
    return [max(values[at : at + size]) for at in range(0, len(values), size or 1)]


def outcome(options: argparse.Namespace, results: Mapping[str, Measured]) -> Outcome:
    """Returns the table of all cases."""
    table = [
        row
        for case in CASES
        if case.name in results
        for row in rows(case, results[case.name], options.deadline_ms)
    ]
    once, thrice = (
        next(float(str(row[2])) for row in table if row[0] == name) for name in ("1x", "3x")
    )
    return Outcome(
        title="Overload",
        question=f"{REPLICAS} echo replicas of {PLACES} places with answers of {ANSWER_S:g} s "
        f"can give {PER_S:.1f} answers a second: what is answered with its first token within "
        f"{options.deadline_ms} ms when three times as many are asked for?",
        command="make bench-overload",
        environment=environment(),
        seed=options.seed,
        columns=COLUMNS,
        rows=table,
        notes=[
            f"In time at 3x: {thrice / once:.0%} of that at 1x. Poisson arrivals; "
            f"{options.duration:g} s of them (3x: twice as long, without deadlines 1.5 times), the "
            f"first {options.warm_up:g} s left out. Times count from the intended send.",
            "Without deadlines sent, all requests wait their turn in a queue of "
            f"{MOST_WAITING}; with no waiting room, in the engines' own, which has no end.",
            "Failed are those refused by an error event: after a second a stream has begun, with "
            "a comment.",
            "Memory is the gateway process's most in each quarter of the case.",
        ],
        details={"errors": {name: _errors(each) for name, each in results.items()}},
    )


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Reads the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--deadline-ms", type=int, default=2000)
    parser.add_argument("--duration", type=float, default=16.0, help="seconds of arrivals")
    parser.add_argument("--warm-up", type=float, default=4.0, help="seconds left out of figures")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--out", type=Path, help="where to write the JSON")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Measures and saves the outcome; a refusal is its sentence and exit code 2."""
    options = parsed(argv)
    try:
        with tempfile.TemporaryDirectory() as folder:
            results = {case.name: measured(options, Path(folder), case) for case in CASES}
    except LoadError as refused:
        sys.stderr.write(f"{refused}\n")
        sys.exit(2)
    save(outcome(options, results), options.out)


if __name__ == "__main__":
    main()
