"""Turnout's gateway beside other gateways: `make bench-gateway`.

    python -m turnout_load.bench.gateway --venvs DIR --out docs/results/gateway.json

The mock and the driver share one core, the system under test has another one to itself. In each
round every load goes first straight to the mock, then through the system: what a system adds is
the difference within a round.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turnout_load.bench.gateway.direct import Direct
from turnout_load.bench.gateway.driver import ENGINE, LOADS, PROMPT_TOKENS
from turnout_load.bench.gateway.figures import Figures, figures, summary
from turnout_load.bench.gateway.litellm import LiteLlm
from turnout_load.bench.gateway.ray_serve_llm import RayServeLlm
from turnout_load.bench.gateway.rounds import Pair, Plan, measured
from turnout_load.bench.gateway.system import Stage, System
from turnout_load.bench.gateway.table import COLUMNS, details, rows
from turnout_load.bench.gateway.turnout import Turnout
from turnout_load.bench.gateway.vllm_router import VllmRouter
from turnout_load.bench.outcome import Outcome, save
from turnout_load.bench.peers import LOCKS, two_cpus
from turnout_load.bench.venvs import locked_version, made
from turnout_load.environment import environment
from turnout_load.errors import LoadError
from turnout_load.mock.process import started

SYSTEMS: tuple[System, ...] = (Direct(), Turnout(), RayServeLlm(), VllmRouter(), LiteLlm())


def main(argv: Sequence[str] | None = None) -> None:
    """Measures and writes the results as JSON; a refusal is one sentence and exit code 2."""
    options = parsed(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends what was started, too
    systems = [each for each in SYSTEMS if not options.system or each.name in options.system]
    loads = [load for load in LOADS if not options.load or load.name in options.load]
    plan = Plan(loads, options.rounds, options.seconds, options.seed)
    try:
        pairs = all_measured(systems, plan, options)
    except LoadError as refused:
        sys.stderr.write(f"{refused}\n")
        sys.exit(2)
    found = {
        name: {load: figures(of_load) for load, of_load in by_load.items()}
        for name, by_load in pairs.items()
    }
    if options.figures:
        options.figures.write_text(json.dumps(summary(found), indent=2) + "\n")
    save(outcome(plan, systems, found, details(pairs)), options.out)


def all_measured(
    systems: Sequence[System], plan: Plan, options: argparse.Namespace
) -> dict[str, dict[str, list[Pair]]]:
    """Makes what is missing, then measures one system after the other; raises `LoadError`."""
    ours, cpu = two_cpus()
    pythons = {each.name: python_of(each, options.venvs.absolute()) for each in systems}
    os.sched_setaffinity(0, {ours})  # the driver is this process
    pairs = {}
    with tempfile.TemporaryDirectory() as scratch, started(ENGINE, ours) as mock:
        for each in systems:
            folder = (options.logs or Path(scratch)).absolute() / each.name
            folder.mkdir(parents=True, exist_ok=True)
            mark = secrets.token_hex(8)
            stage = Stage(mock, folder, pythons[each.name], cpu, mark)
            pairs[each.name] = measured(each, stage, plan)
    return pairs


def python_of(system: System, venvs: Path) -> Path:
    """Returns the interpreter of a system's environment; raises `PeerFailed`."""
    if system.locks is None:
        return Path(sys.executable)
    return made(venvs / f"{system.name}-venv", LOCKS / system.locks)


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Reads the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--venvs", type=Path, required=True, help="folder of the other gateways' venvs")
    add("--out", type=Path, help="where to write the outcome")
    add("--figures", type=Path, help="where to write only the few figures that goals are set for")
    add("--logs", type=Path, help="folder to keep the systems' logs in")
    add("--system", action="append", choices=[each.name for each in SYSTEMS], help="repeatable")
    add("--load", action="append", choices=[load.name for load in LOADS], help="repeatable")
    add("--rounds", type=int, default=4)
    add("--seconds", type=float, default=3.0, help="of each load and way in a round")
    add("--seed", type=int, default=7)
    return parser.parse_args(argv)


def outcome(
    plan: Plan,
    systems: Sequence[System],
    found: Mapping[str, Mapping[str, Figures]],
    of_rounds: Mapping[str, Any],
) -> Outcome:
    """Returns the table with all that it was made of."""
    versions = {
        each.name: locked_version(LOCKS / each.locks, each.name) for each in systems if each.locks
    }
    return Outcome(
        title="Turnout's gateway beside other gateways",
        question="What does a gateway add to a request, and how much does one CPU core of it "
        "carry, with an engine behind it that costs nothing?",
        command="make bench-gateway",
        environment={
            **environment("ray"),
            **versions,
            "load_average": round(os.getloadavg()[0], 2),
        },
        seed=plan.seed,
        columns=COLUMNS,
        rows=rows(found),
        notes=[
            f"Every system is alone, all of its processes on one core; driver and mock share the "
            f"other one. A request has {PROMPT_TOKENS} tokens; the mock answers it whole after "
            f"{ENGINE.ttft_ms:g} ms, or with {ENGINE.tokens} chunks {ENGINE.itl_ms:g} ms apart.",
            f"{plan.rounds} rounds of {plan.seconds:g} s for each load, first straight to the mock "
            "and then through the system; added is the difference within a round, and a figure the "
            "median of the rounds.",
            "`direct` is the way to the mock beside itself: what it adds is noise, and what it "
            "carries is the most that driver and mock can.",
            "turnout checks keys and limits, routes every request (`auto`) and keeps usage. Both "
            "systems on Ray have HAProxy in front, and all of Ray's daemons are in their figures.",
        ],
        details=of_rounds,
    )


if __name__ == "__main__":
    main()
