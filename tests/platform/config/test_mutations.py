"""Whatever is changed in a valid file: it loads, or `ConfigInvalid` lists problems."""

import copy
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnout.config.check import check
from turnout.config.deployment_file import DeploymentFile
from turnout.config.document import parse
from turnout.config.errors import ConfigInvalid
from turnout.config.load import load
from turnout.config.problems import Problem

LOCAL = (Path(__file__).parents[3] / "deployments" / "local.yaml").read_text()
DATA = yaml.safe_load(LOCAL)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["auto", "small", "reserved", "spot", "model", "gateway", "args", "~x/y"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(scalars, inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, loc: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    return [loc, *(place for key, child in inside for place in places(child, (*loc, key)))]


PLACES = places(DATA)[1:]


@st.composite
def mutants(draw: st.DrawFn) -> Any:
    data = copy.deepcopy(DATA)
    for loc in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        try:
            parent = data
            for part in loc[:-1]:
                parent = parent[part]
            change = draw(st.sampled_from(["set", "delete", "add"]))
            if change == "set":
                parent[loc[-1]] = draw(values)
            elif change == "delete":
                del parent[loc[-1]]
            elif isinstance(parent, dict):
                parent[draw(scalars)] = draw(values)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return data


def loaded_or_problems(path: Path) -> tuple[DeploymentFile | None, tuple[Problem, ...]]:
    try:
        return load(path), ()
    except ConfigInvalid as error:
        return None, error.problems


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=mutants())
def test_a_changed_value_never_gives_a_traceback(tmp_path: Path, data: Any) -> None:
    path = tmp_path / "mutant.yaml"
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    file, problems = loaded_or_problems(path)
    assert (file is None) == bool(problems)
    assert all(problem.message and str(problem) for problem in problems)


@settings(max_examples=100, deadline=None)
@given(
    cut=st.tuples(st.integers(0, len(LOCAL)), st.integers(0, 60)),
    text=st.text(alphabet=st.sampled_from(list("\t\n -:[]{}&*!<>?|'\"#%@`,ab01~")), max_size=8),
)
def test_changed_text_never_gives_a_traceback(cut: tuple[int, int], text: str) -> None:
    start, length = cut
    mutant = LOCAL[:start] + text + LOCAL[start + length :]
    findings = check(parse(mutant), {})
    assert (findings.file is None) == bool(findings.problems)
