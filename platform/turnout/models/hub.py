"""Models on a hub, in huggingface_hub's own cache (HF_HOME, HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE).

huggingface_hub loads its parts at their first use: importing it here costs next to nothing.
"""

import shutil
import threading
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from queue import Empty, Queue

import huggingface_hub as hf
from huggingface_hub import constants, errors
from huggingface_hub.utils.tqdm import disable_progress_bars

from turnout.models.errors import DiskFull, HubModelMissing, HubUnreachable
from turnout.models.folders import missing_from
from turnout.models.progress import Progress, Report, watched
from turnout.models.source import HubSource
from turnout.models.wheels import no_space

_REQUEST_TIMEOUT_S = 3.0
# Name resolution knows no timeout of its own, so the whole question has one.
_ANSWER_WITHIN_S = 5.0
_TEXTS = ("*.json", "*.jinja", "*.txt", "*.model", "*.py")
# copies of the same weights in other formats
_IGNORED = ("onnx/*", "original/*", "consolidated*", "openvino/*", "coreml/*", "gguf/*")


def present(source: HubSource) -> Path | None:
    """The hub cache's complete snapshot of the model, if there is one; asks no network."""
    try:
        folder = hf.snapshot_download(
            source.repo,
            revision=source.revision,
            local_files_only=True,
            allow_patterns=[*_TEXTS, "*.safetensors"],
            ignore_patterns=list(_IGNORED),
        )
    except errors.LocalEntryNotFoundError:
        return None
    return None if missing_from(Path(folder)) else Path(folder)


def fetch_hub(source: HubSource, report: Report) -> Path:
    """Download the model's snapshot; raises HubUnreachable within seconds, or HubModelMissing."""
    disable_progress_bars()  # this process reports its progress in its own way
    info = _model_info(source)
    sizes = {one.rfilename: one.size or 0 for one in info.siblings or ()}
    weights = "*.safetensors" if any(name.endswith(".safetensors") for name in sizes) else "*.bin"
    patterns = [*_TEXTS, weights]
    total = _wanted_bytes(sizes, patterns)
    blobs = Path(constants.HF_HUB_CACHE) / f"models--{source.repo.replace('/', '--')}" / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(blobs).free < total:
        raise DiskFull(blobs, total)
    try:
        with watched(blobs, lambda size: report(Progress("download", source.text, size, total))):
            folder = hf.snapshot_download(
                source.repo,
                revision=source.revision,
                allow_patterns=patterns,
                ignore_patterns=list(_IGNORED),
            )
    except (_http_error(), OSError) as error:
        if no_space(str(error)):
            raise DiskFull(blobs) from error
        raise HubUnreachable(constants.ENDPOINT, _sentence(error)) from error
    if missing := missing_from(Path(folder)):
        raise HubModelMissing(source.repo, source.revision, missing)
    return Path(folder)


def _model_info(source: HubSource) -> hf.ModelInfo:
    """Ask the hub for the model's files and sizes, for a few seconds at most."""
    answers: Queue[hf.ModelInfo | Exception] = Queue()

    def ask() -> None:
        try:
            answers.put(
                hf.HfApi().model_info(
                    source.repo,
                    revision=source.revision,
                    files_metadata=True,
                    timeout=_REQUEST_TIMEOUT_S,
                )
            )
        except (_http_error(), OSError, ValueError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=_ANSWER_WITHIN_S)
    except Empty:
        reason = f"no answer within {_ANSWER_WITHIN_S:g} s"
        raise HubUnreachable(constants.ENDPOINT, reason) from None
    if isinstance(answer, (errors.RepositoryNotFoundError, errors.RevisionNotFoundError)):
        raise HubModelMissing(source.repo, source.revision, _sentence(answer)) from answer
    if isinstance(answer, errors.OfflineModeIsEnabled):
        raise HubUnreachable(constants.ENDPOINT, "HF_HUB_OFFLINE is set") from answer
    if isinstance(answer, Exception):
        raise HubUnreachable(constants.ENDPOINT, _sentence(answer)) from answer
    return answer


def _http_error() -> type[Exception]:
    """The root of the HTTP library's errors; which library it is depends on huggingface_hub."""
    root = errors.HfHubHTTPError.__bases__[0]
    return root if issubclass(root, Exception) else errors.HfHubHTTPError


def _wanted_bytes(sizes: dict[str, int], patterns: list[str]) -> int:
    def fits(name: str, any_of: Iterable[str]) -> bool:
        return any(fnmatch(name, pattern) for pattern in any_of)

    return sum(
        size for name, size in sizes.items() if fits(name, patterns) and not fits(name, _IGNORED)
    )


def _sentence(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
