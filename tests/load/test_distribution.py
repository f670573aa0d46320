"""The load tool installs alone, light, with what the whole project asks for."""

import ast
import sys
import tomllib
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
OPTIONAL = {"ray", "tokenizers"}


def project(path: str) -> Any:
    return tomllib.loads((REPOSITORY / path).read_text())["project"]


def test_both_distributions_agree() -> None:
    alone, whole = project("load/pyproject.toml"), project("pyproject.toml")
    assert set(alone["dependencies"]) <= set(whole["dependencies"])
    assert alone["version"] == whole["version"]
    assert alone["requires-python"] == whole["requires-python"]
    assert alone["scripts"].items() <= whole["scripts"].items()


def test_the_tool_imports_nothing_that_it_does_not_install() -> None:
    alone = project("load/pyproject.toml")
    installed = {each.partition(">")[0] for each in alone["dependencies"]}
    known = set(sys.stdlib_module_names) | installed | {"turnout_load"}
    for path in (REPOSITORY / "load/turnout_load").rglob("*.py"):
        foreign = _imported(path) - known - OPTIONAL
        if "bench" not in path.parts:  # the benchmarks run in the project's own environment
            assert not foreign, f"{path}: {foreign}"


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found
