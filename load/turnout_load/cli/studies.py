"""The commands that run many times: the highest rate, which of two is better, does it drift."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from turnout_load import compare, soak
from turnout_load.assertions import parse_assertion
from turnout_load.cli.exits import MISSED, exit_code
from turnout_load.cli.options import with_spec
from turnout_load.cli.printing import print_markdown
from turnout_load.errors import BadOption
from turnout_load.live import LiveView
from turnout_load.measure import check_terms, measure, take
from turnout_load.outputs import prepare, write_comparison, write_run, write_sweep
from turnout_load.records import Records
from turnout_load.result import Result
from turnout_load.spec import Spec
from turnout_load.summarize import Facts
from turnout_load.sweep import Range, sweep
from turnout_load.sweep_result import SweepPoint

Out = Annotated[Path, typer.Option("--out", help="Folder for the results.")]


@with_spec
def sweep_command(
    spec: Spec,
    slo: Annotated[
        list[str], typer.Option("--slo", help="What must hold, such as 'ttft.p95<500ms'; repeated.")
    ],
    arrivals: Annotated[
        str, typer.Option("--arrivals", help="constant, poisson or gamma.")
    ] = "poisson",
    lowest: Annotated[
        float, typer.Option("--lowest", help="The first rate, in conversations a second.")
    ] = 1.0,
    highest: Annotated[float, typer.Option("--highest", help="The last rate to try.")] = 1000.0,
    resolution: Annotated[
        float, typer.Option("--resolution", help="How near the limit to come, as a share of it.")
    ] = 0.05,
    out: Out = Path("load-sweep"),
) -> None:
    """Finds the highest rate that meets an SLO, and the knee of the throughput-latency curve."""
    if not (0 < lowest <= highest and 0 < resolution < 1):
        raise BadOption("--lowest", f"{lowest:g}", "0 < lowest <= highest, 0 < resolution < 1")
    conditions = [parse_assertion(text, "--slo") for text in slo]

    workload = msgspec.structs.replace(spec.workload, arrivals=arrivals)
    spec = msgspec.structs.replace(spec, workload=workload)
    prepare(out)

    def run(at_rate: Spec) -> tuple[Result, Records]:
        with LiveView() as view:
            return measure(at_rate, view.update)

    def tell(point: SweepPoint) -> None:
        typer.echo(
            f"{point.rate:8.3g}/s {'meets' if point.meets_slo else 'misses'}: {point.because}"
        )

    found = sweep(spec, conditions, Range(lowest, highest, resolution), run, tell)
    print_markdown(write_sweep(out, found))
    raise typer.Exit(0 if found.highest_rate is not None else MISSED)


@with_spec
def compare_command(
    spec: Spec,
    a: Annotated[str, typer.Argument(help="MODEL, URL or URL#MODEL.")],
    b: Annotated[str, typer.Argument(help="The other one.")],
    url: Annotated[str, typer.Option("--url", help="Base URL of sides that name none.")] = "",
    model: Annotated[str, typer.Option("--model", help="Model of sides that name none.")] = "",
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds of each side, in turn.")] = 4,
    out: Out = Path("load-comparison"),
) -> None:
    """Measures two deployments in interleaved rounds, and says which is better and how sure."""
    check_terms(spec)
    target = msgspec.structs.replace(spec.target, url=url, model=model)
    sides = compare.side(a, target), compare.side(b, target)
    prepare(out)

    def run(of_round: Spec) -> tuple[Records, Facts]:
        with LiveView() as view:
            return take(of_round, view.update)

    print_markdown(write_comparison(out, *compare.compare(spec, sides, rounds, run)))


@with_spec
def soak_command(
    spec: Spec,
    window: Annotated[float, typer.Option("--window", help="Seconds of each window.")] = 60.0,
    out: Out = Path("load-soak"),
) -> None:
    """Runs for long, and says whether latencies drift from window to window."""
    if not 0 < window < math.inf:
        raise BadOption("--window", f"{window:g}", "seconds, above 0")
    prepare(out)
    with LiveView() as view:
        result, records = measure(spec, view.update)
    of_run = soak.windows(records, window)
    drifts = soak.drifts(of_run)
    notes = [*result.notes, *drifts, *soak.unjudged(of_run)]
    result = msgspec.structs.replace(result, notes=notes)
    print_markdown(write_run(out, result, records, f"\n{soak.table(of_run)}\n"))
    raise typer.Exit(exit_code(result, not drifts))
