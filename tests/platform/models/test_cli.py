from pathlib import Path

import pytest
from typer.testing import CliRunner

from turnout.models.cli import models_app, short, sources_in, sources_of
from turnout.models.errors import BadSourcesFile, InvalidSource

cli = CliRunner()


def deployment(path: Path, model: Path) -> Path:
    path.write_text(
        f"""
applications:
  - name: gateway
    import_path: turnout_deployments.gateway:build
  - name: small
    args: {{model: small, sources: ["/no/such/model", "{model}"]}}
"""
    )
    return path


def test_fetch_reads_the_sources_of_a_deployment(model_folder: Path, tmp_path: Path) -> None:
    config = deployment(tmp_path / "local.yaml", model_folder)
    result = cli.invoke(models_app, ["fetch", str(config), "--cache", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(model_folder)


def test_fetch_takes_a_source_itself(tmp_path: Path) -> None:
    result = cli.invoke(models_app, ["fetch", "s3://bucket/model", "--cache", str(tmp_path)])
    assert (result.exit_code, result.stdout.strip()) == (0, "s3://bucket/model")


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("/no/such/model", "there is no such folder"),
        ("http://host/model", "unknown scheme 'http'"),
        ("no-such.yaml", "no-such.yaml: cannot be read"),
    ],
)
def test_a_failure_is_a_sentence_and_exit_code_one(
    argument: str, sentence: str, tmp_path: Path
) -> None:
    result = cli.invoke(models_app, ["fetch", argument, "--cache", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.strip().startswith("error: ")
    assert sentence in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize("content", ["", "[1]", "applications: 3", "applications: [{args: x}]"])
def test_a_file_that_names_no_sources_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(content)
    with pytest.raises(BadSourcesFile, match=r"no application in it has args\.sources"):
        sources_of(str(path))


def test_a_file_that_is_no_yaml_is_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_text("applications: [")
    with pytest.raises(BadSourcesFile, match="line 1"):
        sources_of(str(path))


def test_sources_are_found_in_every_application_in_order() -> None:
    document = {
        "applications": [
            {"args": {"sources": ["a", "b"]}},
            {"args": {"sources": "not a list"}},
            {"args": {"sources": ["c"]}},
        ]
    }
    assert sources_in(document) == [["a", "b"], ["c"]]


def test_an_argument_that_is_no_file_must_be_a_source() -> None:
    assert sources_of("hf://org/name") == [["hf://org/name"]]
    with pytest.raises(InvalidSource):
        sources_of("hf://name")


def test_list_shows_nothing_but_says_how_to_get_models(tmp_path: Path) -> None:
    result = cli.invoke(models_app, ["list", "--cache", str(tmp_path)])
    assert result.exit_code == 0
    assert "no models in" in result.stdout
    assert "turnout models fetch" in result.stdout


def test_list_shows_name_source_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "tiny-0123456789ab"
    folder.mkdir()
    (folder / "turnout.json").write_text('{"layout": 1, "source": "pypi://tiny#a.gguf"}')
    (folder / "model.safetensors").write_bytes(bytes(3_000_000))
    result = cli.invoke(models_app, ["list", "--cache", str(tmp_path)])
    for text in ("tiny-0123456789ab", "pypi://tiny#a.gguf", "3 MB"):
        assert text in result.stdout


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("pypi://a,b,c#some.gguf?sha256=00", "some.gguf"),
        ("hf://org/name@main", "name@main"),
        ("/models/a/", "a"),
    ],
)
def test_progress_names_a_source_by_its_last_part(source: str, name: str) -> None:
    assert short(source) == name
