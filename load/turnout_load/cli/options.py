"""Options made of settings' fields: each field is one, and its docstring is the help."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

import msgspec
import typer

from turnout_load.docstrings import field_docs
from turnout_load.errors import BadOption
from turnout_load.spec import Spec, Target, Workload

Part = type[msgspec.Struct]
Command = Callable[..., Any]
SPEC_PARTS: tuple[Part, ...] = (Target, Workload, Spec)
DEFAULT_DURATION_S = 30.0
SINGULAR = {"headers": "header", "steps": "step", "models": "model"}
"""Options that are repeated, by field."""


def option_name(field: str) -> str:
    """Returns a field's option; seconds need no suffix there."""
    return "--" + SINGULAR.get(field, field).removesuffix("_s").replace("_", "-")


def with_options(
    parts: Sequence[Part], make: Callable[[dict[str, Any]], Any]
) -> Callable[[Command], Command]:
    """Returns a decorator: a command takes `make` of the parts' fields as its first argument.

    Fields that the command names as parameters of its own are left to it.
    """

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        taken = {parameter.name for parameter in own}
        fields = [each for each in _parameters(parts) if each.name not in taken]

        @functools.wraps(command)
        def run(**given: Any) -> Any:
            made = make({field.name: given.pop(field.name) for field in fields})
            return command(made, **given)

        _sign(run, [*fields, *own])
        return run

    return decorate


def to_spec(given: Mapping[str, Any]) -> Spec:
    """Makes a spec of options' values by field name; raises `BadOption`.

    A target's address or model that the command takes in its own way stays empty.
    """
    target, workload, rest = (_values(part, given) for part in SPEC_PARTS)
    if not (rest.get("duration_s") or rest.get("requests") or workload.get("trace")):
        rest["duration_s"] = DEFAULT_DURATION_S
    if rest.get("duration_s") and rest.get("warm_up_s", 0) >= rest["duration_s"]:
        expected = f"less than the {rest['duration_s']:g} s of --duration"
        raise BadOption("--warm-up", f"{rest['warm_up_s']:g}", expected)
    return Spec(
        target=Target(**{"url": "", "model": "", **target}), workload=Workload(**workload), **rest
    )


with_spec = with_options(SPEC_PARTS, to_spec)


def to_settings(part: Part) -> Callable[[dict[str, Any]], Any]:
    """Returns what makes one struct of its own options."""
    return lambda given: part(**_values(part, given))


def _sign(run: Command, parameters: Sequence[inspect.Parameter]) -> None:
    """Gives a function the signature that typer reads."""
    signature = inspect.Signature(
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    )
    del run.__wrapped__  # type: ignore[attr-defined]  # typer would read that one's instead
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}


def _parameters(parts: Sequence[Part]) -> list[inspect.Parameter]:
    hints = {part: get_type_hints(part) for part in parts}
    return [
        _parameter(field, hints[part][field.name], field_docs(part).get(field.name, ""))
        for part in parts
        for field in msgspec.structs.fields(part)
        if not isinstance(field.type, type) or not issubclass(field.type, msgspec.Struct)
    ]


def _parameter(field: msgspec.structs.FieldInfo, hint: Any, about: str) -> inspect.Parameter:
    name = option_name(field.name)
    words = f"{name}/--no-{name[2:]}" if hint is bool else name
    option = typer.Option(words, help=about.replace("`", ""))
    default = inspect.Parameter.empty if field.required else _default(field)
    kind = inspect.Parameter.KEYWORD_ONLY
    typed: Any = Annotated[_typer_type(hint), option]
    return inspect.Parameter(field.name, kind, default=default, annotation=typed)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    made = field.default_factory is not msgspec.NODEFAULT
    default = field.default_factory() if made else field.default
    return [] if isinstance(default, dict | tuple) else default


def _typer_type(hint: Any) -> Any:
    lists = {
        dict[str, str]: list[str],
        tuple[str, ...]: list[str],
        tuple[float, ...]: list[float],
    }
    return lists.get(hint, hint)


def _values(part: Part, given: Mapping[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(part)
    return {name: _value(name, hint, given[name]) for name, hint in hints.items() if name in given}


def _value(name: str, hint: Any, given: Any) -> Any:
    if hint == dict[str, str]:
        return dict(_pair(option_name(name), text) for text in given)
    return tuple(given) if isinstance(given, list) else given


def _pair(option: str, text: str) -> tuple[str, str]:
    name, is_pair, value = text.partition("=")
    if not (name and is_pair):
        raise BadOption(option, text, "NAME=VALUE")
    return name.strip(), value.strip()
