"""VLLM's engine arguments: which exist, and which values vLLM itself takes."""

import argparse
import dataclasses
import json
import re
from typing import Annotated, Any, NoReturn

from pydantic import TypeAdapter, ValidationError
from vllm.config import CacheConfig, ParallelConfig, SchedulerConfig
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.launchers.cli_args import FrontendArgs, make_arg_parser
from vllm.model_executor.layers.quantization import QUANTIZATION_METHODS
from vllm.tool_parsers import ToolParserManager
from vllm.utils.argparse_utils import FlexibleArgumentParser

from turnout.config.problems import closest

_CONFIGS: tuple[Any, ...] = (CacheConfig, SchedulerConfig, ParallelConfig)


class _Refused(Exception):
    """The parser's own message about a value."""


class _Parser(FlexibleArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Refused(message)


class EngineArguments:
    """Asks vLLM's own parser and config classes about single engine arguments."""

    def __init__(self) -> None:
        make: Any = _Parser  # vLLM's class has no types
        self._parser = make_arg_parser(make(add_help=False))
        self._actions = {
            action.dest: action for action in self._parser._actions if action.option_strings
        }
        # Ray's LLMConfig hands on exactly these.
        both = (*dataclasses.fields(FrontendArgs), *dataclasses.fields(AsyncEngineArgs))
        self._known = [field.name for field in both]

    def mistake(self, key: str, value: object) -> str | None:
        """Says what is wrong with one argument, None if nothing is."""
        if key not in self._known:
            return f"vLLM has no such engine argument: {closest(key, self._known)}"
        return self._parsed(key, value) or _outside_choices(key, value) or _out_of_range(key, value)

    def _parsed(self, key: str, value: object) -> str | None:
        action = self._actions.get(key)
        if action is None or value is None:
            return None
        is_switch = isinstance(action, argparse.BooleanOptionalAction)
        if is_switch != isinstance(value, bool):
            return "should be true or false" if is_switch else "true and false mean nothing here"
        try:
            parsed = self._parser.parse_args(_words(action, value))
        except (_Refused, ValueError) as error:
            return _in_short(str(error))
        if isinstance(value, str) and isinstance(getattr(parsed, key, None), int | float):
            return f"should be a number: write {value} without quotes"
        return None


def _words(action: argparse.Action, value: object) -> list[str]:
    """Writes a value as the command line would have it."""
    flag = next(option for option in action.option_strings if option.startswith("--"))
    if isinstance(value, bool):
        return [flag if value else flag.replace("--", "--no-", 1)]
    if isinstance(value, list) and action.nargs:
        return [flag, *map(str, value)]
    if isinstance(value, dict | list):
        return [flag, json.dumps(value)]
    return [f"{flag}={value}"]


def _outside_choices(key: str, value: object) -> str | None:
    """Checks the names that vLLM's parser takes as any text and refuses at engine start."""
    if not isinstance(value, str):
        return None
    if key == "quantization":
        known = list(QUANTIZATION_METHODS)
    elif key == "tool_call_parser":
        known = list(ToolParserManager.list_registered())
    else:
        return None
    return None if value in known else f"vLLM knows no such {key}: {closest(value, known)}"


def _out_of_range(key: str, value: object) -> str | None:
    """Checks the bounds that vLLM's config classes set on their fields."""
    for config in _CONFIGS:
        field = config.__pydantic_fields__.get(key)
        if field is None or not field.metadata:
            continue
        # A type made at run time is one mypy cannot know.
        bounds: Any = Annotated[field.annotation, *field.metadata]
        bounded = TypeAdapter(bounds)
        try:
            bounded.validate_python(value)
        except ValidationError as error:
            return error.errors()[0]["msg"].replace("Input should", "should")
    return None


def _in_short(message: str) -> str:
    """Keeps what vLLM's parser says about the value, without pydantic's pointers."""
    lines = [line.strip() for line in message.splitlines() if "further information" not in line]
    return re.sub(r"^argument \S+: | \[type=.*\]$", "", " ".join(lines))
