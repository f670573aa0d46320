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
from turnout_load.bench.peer import Figures, Files, Load, Peer, PeerFailed
from turnout_load.bench.peer_aiperf import Aiperf
from turnout_load.bench.peer_guidellm import Guidellm
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
SHORT_TOKENS = 8


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
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise PeerFailed(peer.name, f"left no figures: {wrong!r}", _last_words(files)) from wrong
    return {"requests": told["requests"], **errors_ms(figures, told)}


def _last_words(files: Files) -> str:
    return (files.folder / "log.txt").read_text()[-2000:]


def errors_ms(figures: Figures, told: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Returns, by figure, what the tool says, what was true, and the difference. Pure."""
    compared = {}
    for metric, true in (("ttft", told["ttft_ms"]), ("itl", told[figures.itl_truth])):
        for share in ("p50", "p99"):
            said_ms = getattr(figures, f"{metric}_{share}")
            compared[f"{metric}_{share}_ms"] = {
                "told": round(said_ms, 3),
                "truth": round(true[share], 3),
                "error": round(said_ms - true[share], 3),
            }
    return compared


def highest_rate(bench: Bench, peer: Peer, load: Load) -> dict[str, Any]:
    """Returns the rates that a tool was asked for and sent, and the best of them."""
    steps: list[Step] = []
    while (rate := next_rate(FIRST_RATE, steps)) is not None:
        _, _, told = bench.measured(peer, replace(load, rate=rate))
        steps.append(Step(rate, sent_per_s(told["arrivals_by_second"])))
        sys.stderr.write(f"{peer.name}: asked for {rate:g}/s, sent {steps[-1].sent:g}/s\n")
    return {
        "kept_up_per_s": max((step.sent for step in steps if step.keeps_up), default=0.0),
        "most_sent_per_s": max(step.sent for step in steps),
        "steps": [asdict(step) for step in steps],
    }


def compared(bench: Bench, peers: Sequence[Peer], duration_s: float, seed: int) -> dict[str, Any]:
    """Runs everything; returns both questions' answers by tool."""
    loads = (
        Load("", "poisson", duration_s, rate=8, seed=seed),
        Load("", "closed", duration_s, users=8, seed=seed),
    )
    short = Load("", "constant", STEP_S, stream=False, output_tokens=SHORT_TOKENS, seed=seed)
    with started(STREAMING, bench.mock_cpu) as address:
        answers = [
            {
                "load": _described(load),
                "tools": {
                    peer.name: accuracy(bench, peer, replace(load, address=address))
                    for peer in peers
                },
            }
            for load in loads
        ]
    with started(AT_ONCE, bench.mock_cpu) as address:
        rates = {
            peer.name: highest_rate(bench, peer, replace(short, address=address)) for peer in peers
        }
    return {
        "accuracy": {"mock": msgspec.to_builtins(STREAMING), "runs": answers},
        "open_loop_rate": {
            "mock": msgspec.to_builtins(AT_ONCE),
            "load": _described(short),
            "tools": rates,
        },
    }


def _described(load: Load) -> dict[str, Any]:
    said = asdict(load)
    del said["address"]
    del said["users" if load.arrivals != "closed" else "rate"]
    return said


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
            answers = compared(bench, peers, options.duration, options.seed)
    except LoadError as refused:
        sys.stderr.write(f"{refused}\n")
        sys.exit(2)
    versions = {
        peer.name: locked_version(LOCKS / peer.locks, peer.name) for peer in peers if peer.locks
    }
    result = {"environment": environment(), "versions": versions, "seed": options.seed, **answers}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
