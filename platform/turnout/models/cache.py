"""The folder that converted models are kept in.

    <cache>/<slug>-<sha12>/   one finished model, with turnout.json
    <cache>/.work/<sha12>/    downloads and half-done work of the same model
    <cache>/.locks/<sha12>    held by the process that works on it

A finished folder appears by one rename, so a reader never sees half a model. The file's hash is
what a model is known by; the slug is for people.
"""

import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from turnout.models.progress import folder_bytes
from turnout.models.source import PackageSource

# Rises when the converter writes something else; older folders are then converted anew.
LAYOUT = 1
_ABANDONED_AFTER_S = 24 * 3600.0


@dataclass(frozen=True)
class CachedModel:
    """A finished model of the cache; size in bytes."""

    name: str
    source: str
    size: int
    path: Path


def default_cache() -> Path:
    """The user's own cache folder, `~/.cache/turnout/models` on Linux."""
    return user_cache_path("turnout") / "models"


def folder_name(source: PackageSource) -> str:
    """`<slug>-<sha12>`: the file's name made safe, and the start of its hash."""
    stem = source.file.removesuffix(".gguf").lower()
    slug = re.sub(r"[^a-z0-9.]+", "-", stem).strip("-.")
    return f"{slug or 'model'}-{work_name(source)}"


def work_name(source: PackageSource) -> str:
    """What locks and work folders are called: the first 12 digits of the hash."""
    return source.sha256[:12]


def finished_model(cache: Path, source: PackageSource) -> Path | None:
    """The folder that this version's converter made of the source's file, if there is one."""
    for folder in sorted(cache.glob(f"*-{work_name(source)}")):
        record = _record(folder)
        if record.get("sha256") == source.sha256 and record.get("layout") == LAYOUT:
            return folder
    return None


def models(cache: Path) -> list[CachedModel]:
    """All finished models, by name."""
    folders = sorted(path for path in cache.glob("*") if _record(path).get("layout") == LAYOUT)
    return [
        CachedModel(folder.name, str(_record(folder).get("source")), folder_bytes(folder), folder)
        for folder in folders
    ]


@contextmanager
def locked(cache: Path, name: str) -> Iterator[Path]:
    """Hold the model's lock, waiting for it, and give its work folder."""
    with _lock(cache, name):
        work = cache / ".work" / name
        work.mkdir(parents=True, exist_ok=True)
        yield work


def remove_abandoned(cache: Path, older_than_s: float = _ABANDONED_AFTER_S) -> None:
    """Delete work folders that nobody holds and that no run has touched for a day."""
    for work in cache.glob(".work/*"):
        try:
            with _lock(cache, work.name, timeout_s=0):
                if time.time() - work.stat().st_mtime > older_than_s:
                    shutil.rmtree(work)
        except (Timeout, FileNotFoundError):  # at work, or gone already
            continue


def _lock(cache: Path, name: str, timeout_s: float = -1) -> FileLock:
    path = cache / ".locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path, timeout=timeout_s)


def _record(folder: Path) -> dict[str, object]:
    try:
        record = json.loads((folder / "turnout.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
