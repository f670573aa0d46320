import pytest

from turnout.config.check import check
from turnout.config.document import parse


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "column 2"),
        ("a:\n\t- b\n", 2, "column 1: found character '\\t'"),
        ("a: &x [*x]\n", 1, "nested too deeply or within itself"),
        ("a: *nothing\n", 1, "undefined alias"),
        ("", None, "the file is empty"),
        ("# only a comment\n", None, "the file is empty"),
        ("a: \0\n", None, "not YAML text"),
        ("!!python/object:os.system {}\n", 1, "could not determine a constructor"),
        ("a: !!bool maybe\n", None, "a value does not fit its type"),
        ("a: 2026-99-99\n", None, "a value does not fit its type"),
        ("? [a, b]\n: 1\n", 1, "unhashable key"),
        ("a: 1\n---\nb: 2\n", 2, "but found another document"),
    ],
)
def test_text_that_is_no_yaml_of_ours_gives_one_problem_with_its_line(
    text: str, line: int | None, message: str
) -> None:
    problems = parse(text).problems
    assert len(problems) == 1
    assert problems[0].line == line
    assert message in problems[0].message


def test_a_deeply_nested_file_is_a_problem_and_no_crash() -> None:
    assert "nested too deeply" in parse("[" * 5000 + "]" * 5000).problems[0].message


def test_aliases_that_multiply_without_end_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 9):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    assert "more than 100000 values" in parse("\n".join(lines)).problems[0].message


def test_a_key_given_twice_is_a_problem_that_names_the_first_line(small_file: str) -> None:
    twice = small_file.replace("context_window: 2048", "context_window: 2048\n      model: tiny")
    problems = check(parse(twice), {}).problems
    assert [(problem.line, problem.path) for problem in problems] == [
        (21, "applications[1].args.model")
    ]
    assert "first on line 18" in problems[0].message


def test_a_merged_mapping_may_override_what_it_takes_over() -> None:
    document = parse("base: &base {a: 1, b: 2}\nother: {<<: *base, b: 3}\n")
    assert document.problems == ()
    assert document.data == {"base": {"a": 1, "b": 2}, "other": {"a": 1, "b": 3}}


def test_every_value_has_the_line_it_stands_on() -> None:
    document = parse("a: 1\nb:\n  - c: 2\n    d: 3\n")
    assert document.line(("b", 0, "d")) == 4
    assert document.line(("b", 0, "not there")) == 3


@pytest.mark.parametrize("text", ["42", "[]", "text", "applications: 3", "applications: [1, 2]"])
def test_yaml_that_is_no_config_is_a_problem_and_no_crash(text: str) -> None:
    assert check(parse(text), {}).problems
