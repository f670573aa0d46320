"""Checks config files with vLLM's own argument parser, Ray's `LLMConfig` and Serve's schema.

A process of its own (`python -m turnout_deployments.check FILE…`), as the imports take many
seconds: prints one line of JSON, per file a list of `{loc, value, message}`.
"""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from ray.serve.schema import ServeDeploySchema

from turnout.config.deployment_file import ModelApplication
from turnout.config.load import load
from turnout.config.problems import closest
from turnout_deployments.engine_arguments import EngineArguments
from turnout_deployments.model import llm_config

Finding = dict[str, Any]


def findings(path: Path, arguments: EngineArguments) -> list[Finding]:
    """Lists what Serve, vLLM and Ray refuse in a file that passed our own checks."""
    file = load(path)
    found = list(_serve(path))
    for index, app in enumerate(file.applications):
        if isinstance(app, ModelApplication):
            found += _model(app, ["applications", index, "args"], arguments)
    return found


def _serve(path: Path) -> Iterator[Finding]:
    try:
        ServeDeploySchema.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            yield _finding(list(detail["loc"]), detail["input"], f"Serve: {detail['msg']}")


def _model(app: ModelApplication, loc: list[Any], arguments: EngineArguments) -> list[Finding]:
    wrong = [
        _finding([*loc, "engine_args", key], value, message)
        for key, value in app.args.engine_args.items()
        if (message := arguments.mistake(key, value))
    ]
    return wrong or list(_llm_config(app, loc))


def _llm_config(app: ModelApplication, loc: list[Any]) -> Iterator[Finding]:
    """Builds what the engine's process will build; the weights' place does not matter here."""
    try:
        llm_config(app.args, "model").get_engine_config().get_initialization_kwargs()
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            yield _llm_finding(app, loc, detail["loc"], detail["msg"])
    except ValueError as error:
        yield _finding(loc, None, f"Ray LLMConfig: {error}")


def _llm_finding(
    app: ModelApplication, loc: list[Any], where: tuple[Any, ...], said: str
) -> Finding:
    if where[:1] == ("accelerator_type",):
        from ray.util.accelerators import accelerators  # noqa: PLC0415 - only for this message

        known = [value for key, value in vars(accelerators).items() if key.isupper()]
        message = f"Ray knows no such accelerator type: {closest(app.args.accelerator, known)}"
        return _finding([*loc, "accelerator"], app.args.accelerator, message)
    return _finding(loc, None, f"Ray LLMConfig: {said.removeprefix('Value error, ')}")


def _finding(loc: list[Any], value: object, message: str) -> Finding:
    return {"loc": loc, "value": value, "message": message}


def main(paths: list[str]) -> None:
    """Prints the findings of all files as one line of JSON."""
    with contextlib.redirect_stdout(sys.stderr):
        arguments = EngineArguments()
        found = {path: findings(Path(path), arguments) for path in paths}
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main(sys.argv[1:])
