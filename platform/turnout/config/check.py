"""Every mistake in a config file at once. Pure: what it must know of the world is passed in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from turnout.config.check_engines import check_engines
from turnout.config.check_names import check_names
from turnout.config.check_pools import check_pools
from turnout.config.check_ports import check_ports
from turnout.config.deployment_file import DeploymentFile
from turnout.config.problems import Document, Problem
from turnout.config.translate import problems_in
from turnout.config.view import View, view
from turnout.models.facts import ModelFacts


@dataclass(frozen=True)
class Findings:
    """What a check found: the file where it is right, else the problems; notes either way.

    `has_engines` says whether any model's `args` could be read, for the deep check.
    """

    file: DeploymentFile | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    has_engines: bool = False


def check(document: Document, facts: Mapping[str, ModelFacts]) -> Findings:
    """Checks a document; `facts` are the shapes of the models known here, by public name."""
    if document.data is None:
        empty = (document.problem((), None, "the file is empty"),)
        return Findings(None, document.problems or empty)
    file, problems = _validated(document)
    seen = view(document)
    problems += [
        *document.problems,
        *check_names(seen),
        *check_pools(seen),
        *check_engines(seen, facts),
        *check_ports(seen),
    ]
    once = {(problem.path, problem.message): problem for problem in problems}
    found = tuple(sorted(once.values(), key=lambda problem: (problem.line or 0, problem.path)))
    has_engines = bool(seen.engines)
    return Findings(None if found else file, found, tuple(_notes(seen, facts)), has_engines)


def merged(ours: Sequence[Problem], deep: Sequence[Problem]) -> list[Problem]:
    """Both checks' problems; what the deep one says of a place with a problem is left out."""
    new = [problem for problem in deep if not any(_same_place(problem, each) for each in ours)]
    return sorted([*ours, *new], key=lambda problem: (problem.line or 0, problem.path))


def _same_place(one: Problem, other: Problem) -> bool:
    return _within(one.path, other.path) or _within(other.path, one.path)


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _validated(document: Document) -> tuple[DeploymentFile | None, list[Problem]]:
    try:
        return DeploymentFile.model_validate(document.data), []
    except ValidationError as error:
        return None, problems_in(error, document)


def _notes(seen: View, facts: Mapping[str, ModelFacts]) -> Iterator[str]:
    for _, args in seen.engines:
        if args.model not in facts:
            yield (
                f"{args.model}: heads and context window not checked, its config.json is not "
                "on this machine (`turnout models fetch` brings it)"
            )
