import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from turnout_router.artifact import SHIPPED, load, save
from turnout_router.errors import (
    ArtifactMissing,
    ArtifactTampered,
    ArtifactVersionUnknown,
    EncoderChanged,
)
from turnout_router.router import Router


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for suffix in ("json", "npz"):
        shutil.copy(SHIPPED / f"static.{suffix}", tmp_path)
    return tmp_path


def edit_manifest(folder: Path, **changes: object) -> None:
    path = folder / "static.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_saved_arrays_and_report_are_loaded_again(folder: Path, tmp_path: Path) -> None:
    shipped = load("static")
    again = load("static", save(shipped, tmp_path / "copy").parent)
    assert again.report == shipped.report
    for name, array in shipped.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)


def test_a_changed_byte_is_noticed(folder: Path) -> None:
    path = folder / "static.npz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArtifactTampered, match="sha256"):
        load("static", folder)


def test_a_pickle_inside_the_arrays_is_refused(folder: Path) -> None:
    artifact = load("static")
    artifact.arrays["probe"] = np.array([object()])
    save(artifact, folder)
    with pytest.raises(ArtifactTampered, match="allow_pickle"):
        load("static", folder)


def test_not_a_number_among_the_weights_is_refused(folder: Path) -> None:
    artifact = load("static")
    artifact.arrays["difficulty_weights"][3] = np.nan
    save(artifact, folder)
    with pytest.raises(ArtifactTampered, match="difficulty_weights"):
        load("static", folder)


def test_arrays_of_different_widths_are_refused(folder: Path) -> None:
    artifact = load("static")
    artifact.arrays["scale"] = artifact.arrays["scale"][:-1]
    save(artifact, folder)
    with pytest.raises(ArtifactTampered, match="scale"):
        load("static", folder)


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_another_format_version_is_refused(folder: Path, version: object) -> None:
    edit_manifest(folder, format_version=version)
    with pytest.raises(ArtifactVersionUnknown, match=f"version {version!r}"):
        load("static", folder)


@pytest.mark.parametrize("text", ["", "[]", "{", '"static"'])
def test_a_manifest_that_is_no_object_is_refused(folder: Path, text: str) -> None:
    (folder / "static.json").write_text(text)
    with pytest.raises(ArtifactTampered, match="manifest"):
        load("static", folder)


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_missing_file_is_named(folder: Path, suffix: str) -> None:
    (folder / f"static.{suffix}").unlink()
    with pytest.raises(ArtifactMissing, match=f"static.{suffix}"):
        load("static", folder)


def test_an_artifact_of_another_encoder_is_refused(folder: Path) -> None:
    edit_manifest(folder, encoder="minilm")
    with pytest.raises(ArtifactTampered, match="'minilm'"):
        load("static", folder)


def test_an_encoder_other_than_the_trained_one_is_noticed(folder: Path) -> None:
    artifact = load("static")
    artifact.arrays["probe"] += 0.1
    save(artifact, folder)
    with pytest.raises(EncoderChanged, match="'static'"):
        Router.load("static", folder)
