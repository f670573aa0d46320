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

from pydantic import ValidationError
from ray.serve.schema import ServeDeploySchema

from turnout.config.load import read
from turnout.config.model_args import ModelArgs
from turnout.config.problems import Document, Loc, closest
from turnout.config.view import view
from turnout_deployments.engine_arguments import EngineArguments
from turnout_deployments.model import llm_config

Finding = dict[str, Any]


def findings(path: Path, arguments: EngineArguments) -> list[Finding]:
    """Lists what Serve, vLLM and Ray refuse, also in a file that has other mistakes."""
    document = read(path)
    found = list(_serve(document))
    for app, args in view(document).engines:
        found += _model(args, (*app.loc, "args"), arguments)
    return found


def _serve(document: Document) -> Iterator[Finding]:
    try:
        ServeDeploySchema.model_validate(document.data)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            loc = document.existing(detail["loc"])
            yield _finding(loc, detail["input"], f"Serve: {detail['msg']}")


def _model(args: ModelArgs, loc: Loc, arguments: EngineArguments) -> list[Finding]:
    wrong = [
        _finding((*loc, "engine_args", key), value, message)
        for key, value in args.engine_args.items()
        if (message := arguments.mistake(key, value))
    ]
    return wrong or list(_llm_config(args, loc))


def _llm_config(args: ModelArgs, loc: Loc) -> Iterator[Finding]:
    """Builds what the engine's process will build; the weights' place does not matter here."""
    try:
        engine: Any = llm_config(args, "model").get_engine_config()
        engine.get_initialization_kwargs()
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            yield _llm_finding(args, loc, detail["loc"], detail["msg"])
    except ValueError as error:
        yield _finding(loc, None, f"Ray LLMConfig: {error}")


def _llm_finding(args: ModelArgs, loc: Loc, where: tuple[Any, ...], said: str) -> Finding:
    if where[:1] == ("accelerator_type",):
        from ray.util.accelerators import accelerators  # noqa: PLC0415 - only for this message

        known = [value for key, value in vars(accelerators).items() if key.isupper()]
        message = f"Ray knows no such accelerator type: {closest(args.accelerator, known)}"
        return _finding((*loc, "accelerator"), args.accelerator, message)
    return _finding(loc, None, f"Ray LLMConfig: {said.removeprefix('Value error, ')}")


def _finding(loc: Loc, value: object, message: str) -> Finding:
    return {"loc": loc, "value": value, "message": message}


def main(paths: list[str]) -> None:
    """Prints the findings of all files as one line of JSON."""
    with contextlib.redirect_stdout(sys.stderr):
        arguments = EngineArguments()
        found = {path: findings(Path(path), arguments) for path in paths}
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main(sys.argv[1:])
