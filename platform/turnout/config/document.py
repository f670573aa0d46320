"""Reads YAML text into data with line numbers; a key given twice is a mistake here.

PyYAML by itself keeps the last of two equal keys and says nothing.
"""

from collections.abc import Iterator

import yaml

from turnout.config.problems import Document, Loc, Problem, path_of, shortened

_MAX_DEPTH = 40
# An alias (`*name`) repeats all it names, so a short file can grow without end.
_MAX_VALUES = 100_000


class _Refused(Exception):
    """The file's structure is one we do not read further."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def parse(text: str) -> Document:
    """Parses YAML text; the document lists syntax mistakes instead of raising."""
    try:
        return _parse(text)
    except yaml.MarkedYAMLError as error:
        return Document(None, problems=(_syntax_problem(error),))
    except yaml.YAMLError as error:
        return Document(None, problems=(Problem("", None, f"not YAML text: {error}"),))
    except RecursionError:
        return Document(None, problems=(Problem("", None, "nested too deeply"),))
    except _Refused as refused:
        return Document(None, problems=(refused.problem,))


def _parse(text: str) -> Document:
    loader = yaml.SafeLoader(text)
    node = loader.get_single_node()
    if node is None:
        return Document(None, problems=(Problem("", None, "the file is empty"),))
    lines: dict[Loc, int] = {}
    problems: list[Problem] = []
    for loc, value, duplicate in _walk(node, (), 0):
        line = value.start_mark.line + 1
        if duplicate:
            message = f"given twice, first on line {lines[loc]}: keep one"
            problems.append(Problem(path_of(loc), None, message, line))
        else:
            lines[loc] = line
        if len(lines) > _MAX_VALUES:
            raise _Refused(Problem("", None, f"more than {_MAX_VALUES} values"))
    return Document(_data(loader, node), lines, tuple(problems))


def _walk(node: yaml.Node, loc: Loc, depth: int) -> Iterator[tuple[Loc, yaml.Node, bool]]:
    """Yields every value's location and node, and whether its key was there before."""
    if depth > _MAX_DEPTH:
        line = node.start_mark.line + 1
        raise _Refused(Problem(path_of(loc), None, "nested too deeply or within itself", line))
    if not loc:
        yield loc, node, False
    children: list[tuple[str | int, yaml.Node, yaml.Node]] = []
    if isinstance(node, yaml.MappingNode):
        children = [(str(key.value), key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        children = [(index, item, item) for index, item in enumerate(node.value)]
    seen: set[str | int] = set()
    for key, marked, value in children:
        yield (*loc, key), marked, key in seen
        if key not in seen:
            seen.add(key)
            yield from _walk(value, (*loc, key), depth + 1)


def _data(loader: yaml.SafeLoader, node: yaml.Node) -> object:
    try:
        return loader.construct_document(node)
    except (ValueError, KeyError, AttributeError) as error:
        # PyYAML's converters raise these for `!!bool maybe`, `2026-99-99` and the like.
        problem = Problem("", None, f"a value does not fit its type: {shortened(str(error))}")
        raise _Refused(problem) from error


def _syntax_problem(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    what = ", ".join(filter(None, (error.problem, error.context)))
    if mark is None:
        return Problem("", None, f"YAML: {what}")
    return Problem("", None, f"YAML, column {mark.column + 1}: {what}", mark.line + 1)
