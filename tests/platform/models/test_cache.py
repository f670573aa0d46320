import json
import os
import time
from pathlib import Path

from turnout.models.cache import (
    LAYOUT,
    finished_model,
    folder_name,
    locked,
    models,
    remove_abandoned,
)
from turnout.models.source import PackageSource

HASH = "0123456789ab" + "c" * 52


def source(file: str = "Some_Model-0.5B.Q4_K_M.gguf") -> PackageSource:
    return PackageSource(f"pypi://a#{file}?sha256={HASH}", ("a",), file, HASH)


def finished_folder(cache: Path, name: str, layout: int = LAYOUT, sha256: str = HASH) -> Path:
    folder = cache / name
    folder.mkdir()
    record = {"layout": layout, "source": source().text, "sha256": sha256}
    (folder / "turnout.json").write_text(json.dumps(record))
    return folder


def test_a_folder_bears_a_safe_name_and_the_start_of_the_hash() -> None:
    assert folder_name(source()) == "some-model-0.5b.q4-k-m-0123456789ab"
    assert folder_name(source("...gguf")) == "model-0123456789ab"


def test_a_model_is_known_by_its_hash_whatever_the_file_is_called(tmp_path: Path) -> None:
    folder = finished_folder(tmp_path, "another-name-0123456789ab")
    assert finished_model(tmp_path, source()) == folder


def test_a_folder_without_record_or_of_another_layout_or_hash_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "a-0123456789ab").mkdir()
    finished_folder(tmp_path, "b-0123456789ab", layout=LAYOUT - 1)
    finished_folder(tmp_path, "c-0123456789ab", sha256=HASH[:12] + "d" * 52)
    assert finished_model(tmp_path, source()) is None


def test_the_list_holds_finished_models_with_their_sizes(tmp_path: Path) -> None:
    folder = finished_folder(tmp_path, "a-0123456789ab")
    (folder / "model.safetensors").write_bytes(b"x" * 1000)
    (tmp_path / "half-done").mkdir()
    (model,) = models(tmp_path)
    assert (model.name, model.source, model.path) == (folder.name, source().text, folder)
    assert model.size == 1000 + (folder / "turnout.json").stat().st_size
    assert models(tmp_path / "absent") == []


def test_only_work_that_is_old_and_that_nobody_holds_is_removed(tmp_path: Path) -> None:
    for name in ("old", "young", "held"):
        (tmp_path / ".work" / name).mkdir(parents=True)
    for name in ("old", "held"):
        two_days_ago = time.time() - 2 * 86400
        os.utime(tmp_path / ".work" / name, (two_days_ago, two_days_ago))
    with locked(tmp_path, "held"):
        remove_abandoned(tmp_path)
    assert {path.name for path in (tmp_path / ".work").iterdir()} == {"young", "held"}
