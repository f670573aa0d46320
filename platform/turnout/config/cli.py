"""`turnout config`: validate, explain, schema, reference."""

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from turnout.config.check import merged
from turnout.config.deep import deep_check
from turnout.config.deployment_file import DeploymentFile
from turnout.config.errors import ConfigInvalid
from turnout.config.explain import explain
from turnout.config.load import inspect, load
from turnout.config.model_args import ModelArgs
from turnout.config.reference import reference
from turnout.config.settings import GatewaySettings
from turnout.errors import TurnoutError

config_app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

File = Annotated[Path, typer.Argument(help="The deployment's YAML file.")]


class Part(StrEnum):
    """Parts of a config file that have a schema of their own."""

    FILE = "file"
    GATEWAY = "gateway"
    MODEL = "model"


_PARTS: dict[Part, type[BaseModel]] = {
    Part.FILE: DeploymentFile,
    Part.GATEWAY: GatewaySettings,
    Part.MODEL: ModelArgs,
}


@config_app.command("validate")
def validate_command(
    file: File,
    engine: Annotated[
        bool, typer.Option(help="Also ask vLLM's, Ray's and Serve's own classes (half a minute).")
    ] = True,
) -> None:
    """Lists every mistake in a file: its line and path, the value, and what would be right."""
    try:
        findings = inspect(file)
        refused = deep_check([file])[file] if engine and findings.has_engines else []
        problems = merged(findings.problems, refused)
        if problems:
            raise ConfigInvalid(str(file), problems)
    except TurnoutError as error:
        raise _told(error) from error
    typer.echo(f"{file}: valid{'' if engine else ' (engine arguments not checked)'}")
    _echo(f"note: {note}" for note in findings.notes)


@config_app.command("explain")
def explain_command(file: File) -> None:
    """Says what a file would start: pools, replicas, GPUs, memory, and what a change restarts."""
    try:
        typer.echo(explain(load(file)))
    except TurnoutError as error:
        raise _told(error) from error


@config_app.command("schema")
def schema_command(
    part: Annotated[
        Part, typer.Argument(help="The whole file, the gateway's user_config or a model's args.")
    ] = Part.FILE,
) -> None:
    """Prints the JSON schema of a file or of one of its parts."""
    typer.echo(json.dumps(_PARTS[part].model_json_schema(), indent=2))


@config_app.command("reference")
def reference_command() -> None:
    """Prints the reference page, docs/configuration.md."""
    typer.echo(reference(), nl=False)


def _told(error: TurnoutError) -> typer.Exit:
    typer.echo(str(error), err=True)
    return typer.Exit(1)


def _echo(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
