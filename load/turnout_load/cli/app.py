"""The commands, and how a refusal becomes one sentence and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from turnout_load.assertions import Assertion, check, parse_assertion
from turnout_load.cli.exits import REFUSED, exit_code
from turnout_load.cli.options import to_settings, with_options, with_spec
from turnout_load.cli.printing import print_markdown
from turnout_load.cli.studies import compare_command, soak_command, sweep_command
from turnout_load.errors import LoadError
from turnout_load.live import LiveView
from turnout_load.measure import measure
from turnout_load.mock import server
from turnout_load.mock.settings import MockSettings
from turnout_load.outputs import prepare, write_run
from turnout_load.schema import Form, schema_of
from turnout_load.spec import Spec

Out = Annotated[Path, typer.Option("--out", help="Folder for the results.")]
Asserted = Annotated[
    list[str], typer.Option("--assert", help="Fails unless it holds, such as 'ttft.p95<500ms'.")
]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measures OpenAI-compatible servers: TTFT, ITL, TPS, E2E, goodput, cost per token.",
)


@app.command("run")
@with_spec
def run_command(spec: Spec, out: Out = Path("load-result"), asserted: Asserted = []) -> None:  # noqa: B006
    """Sends a workload and reports what came back; Ctrl-C reports what was measured so far."""
    run_and_report(spec, out, [parse_assertion(text) for text in asserted])


@app.command("replay")
@with_spec
def replay_command(
    spec: Spec,
    trace: Annotated[
        str, typer.Argument(help="azure:PATH, mooncake:PATH, burstgpt:PATH, log:PATH")
    ],
    out: Out = Path("load-result"),
    asserted: Asserted = [],  # noqa: B006
) -> None:
    """Sends a recorded trace's requests at its own times, `--speed` times as fast."""
    workload = msgspec.structs.replace(spec.workload, trace=trace)
    spec = msgspec.structs.replace(spec, workload=workload)
    run_and_report(spec, out, [parse_assertion(text) for text in asserted])


app.command("sweep")(sweep_command)
app.command("compare")(compare_command)
app.command("soak")(soak_command)


@app.command("mock")
@with_options((MockSettings,), to_settings(MockSettings))
def mock_command(settings: MockSettings) -> None:
    """Serves answers of known times, to check a load tool or to try one without a model."""
    server.run(settings)


@app.command("schema")
def schema_command(
    form: Annotated[Form, typer.Argument(help="Whose: that of FORM.json.")] = Form.RESULT,
) -> None:
    """Prints the JSON schema of `result.json`, `sweep.json` or `comparison.json`."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(schema_of(form))) + b"\n")


def run_and_report(spec: Spec, out: Path, asserted: Sequence[Assertion]) -> None:
    """Measures, writes the files, prints the summary, and exits with the code that says it."""
    prepare(out)
    with LiveView() as view:
        result, records = measure(spec, view.update)
    print_markdown(write_run(out, result, records))
    checks = check(result, asserted)
    for each in checks:
        print_markdown(each.sentence)
    raise typer.Exit(exit_code(result, all(each.holds for each in checks)))


def main() -> None:
    """Runs a command; what the user can mend is told in one sentence, with exit code 2."""
    try:
        app()
    except LoadError as refused:
        sys.stderr.write(f"turnout-load: {refused}\n")
        sys.exit(REFUSED)
