"""The trained numbers on disk: an npz of arrays and a JSON manifest; no pickles.

The manifest carries the format version, the encoder's name, the npz file's sha256 and the training
report. The npz carries the linear models and the encoder's vector of a fixed probe text, so that an
encoder other than the one trained with is noticed.
"""

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnout_router.errors import ArtifactMissing, ArtifactTampered, ArtifactVersionUnknown

FORMAT_VERSION = 1
SHIPPED = Path(__file__).parent / "artifacts"
ARRAYS = (
    "mean",
    "scale",
    "difficulty_weights",
    "difficulty_intercept",
    "length_weights",
    "length_intercept",
    "length_spread",
    "probe",
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Artifact:
    """Arrays by name (ARRAYS) and the training report."""

    encoder: str
    arrays: dict[str, Floats]
    report: dict[str, Any]


def save(artifact: Artifact, folder: Path) -> Path:
    """Writes the artifact's two files into the folder and returns the manifest's path."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    arrays: dict[str, Any] = {name: artifact.arrays[name] for name in ARRAYS}
    np.savez_compressed(packed, **arrays)
    (folder / f"{artifact.encoder}.npz").write_bytes(packed.getvalue())
    manifest = {
        "format_version": FORMAT_VERSION,
        "encoder": artifact.encoder,
        "sha256": hashlib.sha256(packed.getvalue()).hexdigest(),
        "report": artifact.report,
    }
    path = folder / f"{artifact.encoder}.json"
    path.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return path


def load(encoder: str, folder: Path = SHIPPED) -> Artifact:
    """Reads and verifies an encoder's artifact.

    Raises ArtifactMissing, ArtifactVersionUnknown or ArtifactTampered.
    """
    path = folder / f"{encoder}.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        packed = path.with_suffix(".npz").read_bytes()
    except FileNotFoundError as error:
        raise ArtifactMissing(str(error.filename)) from error
    except ValueError as error:
        raise ArtifactTampered(str(path), "its manifest is not JSON") from error
    if not isinstance(manifest, dict):
        raise ArtifactTampered(str(path), "its manifest is not a JSON object")
    if manifest.get("format_version") != FORMAT_VERSION:
        raise ArtifactVersionUnknown(str(path), manifest.get("format_version"), FORMAT_VERSION)
    if manifest.get("encoder") != encoder:
        raise ArtifactTampered(str(path), f"it is for encoder {manifest.get('encoder')!r}")
    if manifest.get("sha256") != hashlib.sha256(packed).hexdigest():
        raise ArtifactTampered(str(path), "sha256 of the npz differs from the manifest's")
    return Artifact(encoder, _unpack(packed, path), dict(manifest.get("report") or {}))


def _unpack(packed: bytes, path: Path) -> dict[str, Floats]:
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
            arrays = {name: np.asarray(stored[name], dtype=np.float64) for name in ARRAYS}
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ArtifactTampered(str(path), f"its arrays can't be read: {error}") from error
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ArtifactTampered(str(path), f"{name} holds NaN or infinity")
    for name in ("scale", "difficulty_weights", "length_weights"):
        if arrays[name].shape != arrays["mean"].shape:
            raise ArtifactTampered(str(path), f"{name} has another shape than mean")
    return arrays
