"""What the gateway's choice of replicas gains over the usual ones, on replicas of unequal speed.

    python -m turnout_load.bench.dispatch --out docs/results/dispatch.json

Three echo replicas, one twice and one four times slower than the first, each with places, prompts
read one after the other, and a prefix cache too small for all products' system prompts. Every
policy gets the same conversations at the same times, on replicas and a gateway started anew; the
policies' order turns from round to round.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from turnout_load.bench.dispatch_system import MODEL, SLOWER, system
from turnout_load.bench.dispatch_work import PRODUCTS, SYSTEM_WORDS, write_conversations
from turnout_load.bench.outcome import Cell, Outcome, save
from turnout_load.environment import environment
from turnout_load.errors import LoadError
from turnout_load.live import Snapshot
from turnout_load.measure import take
from turnout_load.metrics.e2e import e2e_ms
from turnout_load.metrics.prefix_cache import prefix_cache
from turnout_load.metrics.ttft import ttft_ms
from turnout_load.record import Record
from turnout_load.spec import Spec, Target, Workload
from turnout_load.stats.percentiles import quantile

POLICIES = ("power-of-two", "least-requests", "finish-time")
"""The gateway's names; the last one is what it does by default."""
Round = Mapping[str, Sequence[Record]]
"""Requests by what they ran under, such as `power-of-two, 4/s`."""


def measured(options: argparse.Namespace, folder: Path) -> list[Round]:
    """Returns each round's requests by policy, those of the warm-up left out."""
    rounds: list[Round] = []
    for number in range(options.rounds):
        turn = number % len(POLICIES)
        order = POLICIES[turn:] + POLICIES[:turn]
        seed = options.seed + number
        rounds.append(
            {
                label(policy, rate): run(options, folder, policy, rate, seed)
                for rate in options.rates
                for policy in order
            }
        )
    return rounds


def label(policy: str, rate: float) -> str:
    """Returns a row's name."""
    return f"{policy}, {rate:g}/s"


def run(
    options: argparse.Namespace, folder: Path, policy: str, rate: float, seed: int
) -> list[Record]:
    """Starts a system with that policy, sends the seed's conversations, and ends it."""
    dataset = folder / "conversations.jsonl"
    write_conversations(dataset, round(rate * options.duration * 2), seed)
    with system(policy, folder) as url:
        spec = Spec(
            target=Target(url=url, model=MODEL),
            workload=Workload(arrivals="poisson", rate=rate, dataset=str(dataset)),
            duration_s=options.duration,
            seed=seed,
        )
        records, _ = take(spec, _quiet)
    kept = [each for each in records if each.intended_ns >= options.warm_up * 1e9]
    sys.stderr.write(f"{rows({label(policy, rate): kept})[0]}\n")
    return kept


def _quiet(_: Snapshot) -> None:
    """Shows nothing."""


def rows(of_policies: Round) -> list[list[Cell]]:
    """Returns a row for each policy. Pure."""
    return [_row(policy, records) for policy, records in of_policies.items()]


def _row(policy: str, records: Sequence[Record]) -> list[Cell]:
    answered = [each for each in records if each.ok]
    ttft = sorted(value for each in answered if (value := ttft_ms(each)) is not None)
    e2e = sorted(value for each in answered if (value := e2e_ms(each)) is not None)
    cache = prefix_cache(answered)
    return [
        policy,
        len(answered),
        len(records) - len(answered),
        *(round(quantile(ttft, share), 1) for share in (0.5, 0.95)),
        *(round(quantile(e2e, share), 1) for share in (0.5, 0.95)),
        f"{cache.share:.1%}" if cache else None,
    ]


COLUMNS = [
    *("policy, new conversations", "answered", "failed", "TTFT p50, ms", "TTFT p95, ms"),
    *("E2E p50, ms", "E2E p95, ms", "prompt tokens from cache"),
]


def outcome(options: argparse.Namespace, rounds: Sequence[Round]) -> Outcome:
    """Returns the table of all rounds together, and each round's."""
    names = [label(policy, rate) for rate in options.rates for policy in POLICIES]
    pooled = {name: [each for one in rounds for each in one[name]] for name in names}
    speeds = ", ".join(f"{name} 1/{slower}" for name, slower in SLOWER.items())
    return Outcome(
        title="Choosing replicas of unequal speed",
        question=f"Conversations of {PRODUCTS} products over three echo replicas ({speeds} of the "
        "speed): what does the least expected finish time gain over the fewest requests, of all "
        "or of two drawn at random?",
        command="make bench-dispatch",
        environment=environment(),
        seed=options.seed,
        columns=COLUMNS,
        rows=rows(pooled),
        notes=[
            f"{options.rounds} rounds of {options.duration:g} s at so many new conversations a "
            f"second, of four turns on average, the first {options.warm_up:g} s left out; the same "
            "conversations for every policy, whose order turns. A real gateway process, "
            "replicas that take their time but compute nothing.",
            f"Each product's system prompt has {SYSTEM_WORDS} words (a word is a token); a replica "
            "keeps 6,000 tokens of prompts.",
        ],
        details={"columns": COLUMNS, "rounds": [rows(each) for each in rounds]},
    )


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Reads the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rates", type=float, nargs="+", default=[4.0, 8.0], help="new conversations a second"
    )
    parser.add_argument("--duration", type=float, default=18.0, help="seconds of arrivals")
    parser.add_argument("--warm-up", type=float, default=5.0, help="seconds left out of figures")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=11)
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
    main()
