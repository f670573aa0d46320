import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from turnout.config.cli import config_app

ROOT = Path(__file__).parents[3]
LOCAL = ROOT / "deployments" / "local.yaml"


def run(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(config_app, [str(word) for word in words])
    # Only an exit code: an exception of another kind would be a traceback for the user.
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def test_a_valid_file_is_called_valid() -> None:
    code, said = run("validate", LOCAL, "--no-engine")
    assert code == 0
    assert "valid (engine arguments not checked)" in said


def test_all_mistakes_are_listed_with_exit_code_1(tmp_path: Path, small_file: str) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(small_file.replace("tier: high", "tier: hihg").replace("2048", "none"))
    code, said = run("validate", broken, "--no-engine")
    assert code == 1
    assert "2 mistakes" in said
    assert "line 11: applications[0].deployments[0].user_config.models.huge.tier" in said
    assert "(found: 'hihg')" in said
    assert "line 20: applications[1].args.context_window: should be a valid integer" in said


@pytest.mark.parametrize("command", ["validate", "explain"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not UTF-8 text"),
        (b"\0\0\0\0", "not YAML text"),
        (b"a: [1", "line 1: YAML, column"),
        (b"- 1\n- 2\n", "should be a valid dictionary"),
        (b"x" * (5 * 1024 * 1024), "not a config file"),
    ],
    ids=["missing", "empty", "binary", "zeros", "unclosed", "list", "huge"],
)
def test_a_file_that_cannot_be_read_is_told_in_a_sentence(
    tmp_path: Path, command: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / "some.yaml"
    if content is not None:
        path.write_bytes(content)
    code, said = run(command, path)
    assert code == 1
    assert message in said


def test_a_folder_is_told_in_a_sentence(tmp_path: Path) -> None:
    assert run("validate", tmp_path) == (1, f"{tmp_path}: is a folder: name the YAML file in it\n")


@pytest.mark.parametrize(
    ("part", "key"), [("file", "applications"), ("gateway", "models"), ("model", "sources")]
)
def test_the_schema_of_a_part_is_json_with_its_keys(part: str, key: str) -> None:
    code, said = run("schema", part)
    assert code == 0
    assert key in json.loads(said)["properties"]


def test_the_reference_page_is_current() -> None:
    code, said = run("reference")
    assert code == 0
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert said == page, "run `turnout config reference > docs/configuration.md`"
