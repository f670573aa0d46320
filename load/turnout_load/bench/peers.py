"""This tool beside aiperf and guidellm, all against the same mock, whose times are known.

    python -m turnout_load.bench.peers --venvs DIR --out docs/results/load-peers.json

Every tool runs alone, in turn, bound to one CPU core, the mock to another one. Two questions:
how far are its TTFT and ITL from what the mock really did in that run, and how many short requests
a second, not streamed, does it really send when it is asked for more and more.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from turnout_load.bench.inputs import write_prompts, write_tokenizer
from turnout_load.bench.outcome import Outcome, save
from turnout_load.bench.peer import Files, Load, Peer, PeerFailed
from turnout_load.bench.peer_aiperf import Aiperf
from turnout_load.bench.peer_guidellm import Guidellm
from turnout_load.bench.peer_table import COLUMNS, errors_ms, rows
from turnout_load.bench.peer_turnout import Turnout
from turnout_load.bench.rate_steps import Step, next_rate, sent_per_s
from turnout_load.bench.running import run_bound
from turnout_load.bench.venvs import locked_version, made
from turnout_load.environment import environment
from turnout_load.errors import BadOption, LoadError
from turnout_load.mock.process import reset_truth, started, truth
from turnout_load.mock.settings import MockSettings

LOCKS = Path(__file__).parents[2] / "peers"
PEERS: tuple[Peer, ...] = (Turnout(), Aiperf(), Guidellm())
STREAMING = MockSettings(ttft_ms=50, itl_ms=10, tokens=32)
AT_ONCE = MockSettings(whole_ms=0)
FIRST_RATE = 200.0
STEP_S = 6.0


@dataclass(frozen=True)
class Bench:
    """What all runs share."""

    folder: Path
    pythons: Mapping[str, Path]
    cpu: int
    """The tools' core."""
    mock_cpu: int

    def measured(self, peer: Peer, load: Load) -> tuple[Files, bool, dict[str, Any]]:
        """Runs a tool once; returns its files, whether it ended well, and what the mock saw."""
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix=f"{peer.name}-"))
        files = Files(folder, folder / "prompts.jsonl", self.folder / "tokenizer")
        write_tokenizer(files.tokenizer)
        write_prompts(files.prompts, 100 + round(2 * load.rate * load.duration_s), load.seed)
        command = peer.command(self.pythons[peer.name], load, files)
        reset_truth(load.address)
        ended_well = run_bound(command, self.cpu, folder, load.duration_s)
        return files, ended_well, truth(load.address)


def accuracy(bench: Bench, peer: Peer, load: Load) -> dict[str, Any]:
    """Returns how far a tool's figures are from the mock's; raises `PeerFailed`."""
    files, ended_well, told = bench.measured(peer, load)
    if not ended_well:
        raise PeerFailed(peer.name, "ended with an error", _last_words(files))
    try:
        figures = peer.figures(json.loads(peer.report(files).read_text()))
        return {"requests": told["requests"], "compared": errors_ms(figures, told)}
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise PeerFailed(peer.name, f"left no figures: {wrong!r}", _last_words(files)) from wrong


def _last_words(files: Files) -> str:
    return (files.folder / "log.txt").read_text()[-2000:]


def highest_rate(bench: Bench, peer: Peer, load: Load) -> dict[str, Any]:
    """Returns the rates that a tool was asked for and sent, and the best of them."""
    steps: list[Step] = []
    while (rate := next_rate(FIRST_RATE, steps)) is not None:
        step = tried(bench, peer, replace(load, rate=rate))
        if not step.keeps_up:  # maybe something else ran on the machine
            step = max(step, tried(bench, peer, replace(load, rate=rate)), key=lambda one: one.sent)
        steps.append(step)
        sys.stderr.write(f"{peer.name}: asked for {rate:g}/s, sent {step.sent:g}/s\n")
    return {
        "kept_up_per_s": max((step.sent for step in steps if step.keeps_up), default=0.0),
        "most_sent_per_s": max(step.sent for step in steps),
        "steps": [asdict(step) for step in steps],
    }


def tried(bench: Bench, peer: Peer, load: Load) -> Step:
    """Asks a tool for a rate once, and counts at the mock."""
    _, _, told = bench.measured(peer, load)
    sent = sent_per_s(told["requests"], told["arrivals_s"], load.duration_s)
    return Step(load.rate, round(sent, 1))


def compared(bench: Bench, peers: Sequence[Peer], options: argparse.Namespace) -> dict[str, Any]:
    """Runs everything, every tool in turn in each round; returns both questions' answers."""
    poisson = Load("", "poisson", options.duration, rate=8, seed=options.seed)
    closed = replace(poisson, arrivals="closed", rate=0.0, users=8)
    short = Load("", "constant", STEP_S, stream=False, output_tokens=8, seed=options.seed)
    with started(STREAMING, bench.mock_cpu) as address:
        runs = [
            {
                "load": _described(load),
                "tool": peer.name,
                **accuracy(bench, peer, replace(load, address=address)),
            }
            for _ in range(options.rounds)
            for load in (poisson, closed)
            for peer in peers
        ]
    with started(AT_ONCE, bench.mock_cpu) as address:
        rates = {
            peer.name: highest_rate(bench, peer, replace(short, address=address)) for peer in peers
        }
    return {
        "accuracy": {"mock": msgspec.to_builtins(STREAMING), "runs": runs},
        "open_loop_rate": {
            "mock": msgspec.to_builtins(AT_ONCE),
            "load": _described(short),
            "tools": rates,
        },
    }


def _described(load: Load) -> dict[str, Any]:
    unsaid = {"address", "rate" if not load.rate else "users"}
    return {name: value for name, value in asdict(load).items() if name not in unsaid}


def two_cpus() -> tuple[int, int]:
    """Returns a core for the tool and one for the mock; raises `BadOption` with only one."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise BadOption("machine", f"{len(usable)} CPU", "two CPUs, for the mock and for the tool")
    return usable[1], usable[0]


def bench_of(venvs: Path, folder: Path, peers: Sequence[Peer]) -> Bench:
    """Makes what is missing; raises `PeerFailed`."""
    pythons = {
        peer.name: made(venvs / f"{peer.name}-venv", LOCKS / peer.locks)
        if peer.locks
        else Path(sys.executable)
        for peer in peers
    }
    cpu, mock_cpu = two_cpus()
    return Bench(folder, pythons, cpu, mock_cpu)


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Reads the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--venvs", type=Path, required=True, help="folder of the tools' venvs")
    parser.add_argument("--out", type=Path, required=True, help="where to write the JSON")
    parser.add_argument("--duration", type=float, default=20.0, help="seconds of a timed run")
    parser.add_argument("--rounds", type=int, default=3, help="of timed runs")
    parser.add_argument("--seed", type=int, default=7)
    names = [peer.name for peer in PEERS]
    parser.add_argument("--tool", action="append", choices=names, help="only this one; repeatable")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Measures and writes the result as JSON; a refusal is one sentence and exit code 2."""
    options = parsed(argv)
    peers = [peer for peer in PEERS if not options.tool or peer.name in options.tool]
    try:
        with tempfile.TemporaryDirectory() as folder:
            bench = bench_of(options.venvs.absolute(), Path(folder), peers)
            answers = compared(bench, peers, options)
    except LoadError as refused:
        sys.stderr.write(f"{refused}\n")
        sys.exit(2)
    save(outcome(options, peers, answers), options.out)


def outcome(
    options: argparse.Namespace, peers: Sequence[Peer], answers: Mapping[str, Any]
) -> Outcome:
    """Returns the table with all that it was made of."""
    versions = {
        peer.name: locked_version(LOCKS / peer.locks, peer.name) for peer in peers if peer.locks
    }
    return Outcome(
        title="Load tools against a mock whose times are known",
        question="How far are a tool's figures from what the server did in that run, and how many "
        "short requests a second, not streamed, does it send from one core?",
        command="make bench-peers",
        environment={**environment(), **versions, "load_average": round(os.getloadavg()[0], 2)},
        columns=COLUMNS,
        rows=rows(answers["accuracy"]["runs"], answers["open_loop_rate"]["tools"]),
        notes=[
            f"The mock's TTFT is {STREAMING.ttft_ms:g} ms, its ITL {STREAMING.itl_ms:g} ms; what "
            "it really did is measured where it writes, and an error is the difference to that.",
            "A tool and all its processes share one core, the mock has another one; "
            f"seed {options.seed}. An error is the median of {options.rounds} runs of "
            f"{options.duration:g} s, the tools in turn.",
            "guidellm tells no single gaps.",
        ],
        details={"seed": options.seed, **answers},
    )


if __name__ == "__main__":
    main()
