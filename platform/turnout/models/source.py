"""Where a model comes from, read from one line of text.

- `hf://org/name[@revision]`: a model hub
- `path/to/folder`: a model folder on this machine
- `s3://bucket/key`, `gs://bucket/key`: handed to Ray as it is
- `pypi://package[==version][,package…]#file.gguf?sha256=HEX`: a data file inside wheels
"""

import re
from dataclasses import dataclass

from turnout.models.errors import InvalidSource

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_PACKAGE_FORM = "pypi://package[==version][,package…]#file.gguf?sha256=HEX"
_REPO = re.compile(r"[\w][\w.-]*/[\w][\w.-]*", re.ASCII)
_REVISION = re.compile(r"[\w][\w./-]*", re.ASCII)
# PEP 508 names; an exact version only, so that the same text always means the same file
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:==[A-Za-z0-9][A-Za-z0-9.!+_-]*)?"
)
_FILE = re.compile(r"[\w][\w.+ -]*\.gguf", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class HubSource:
    """A model on the hub, `org/name`; without a revision, the default branch."""

    text: str
    repo: str
    revision: str | None


@dataclass(frozen=True)
class LocalSource:
    """A model folder on this machine; the text is its path."""

    text: str


@dataclass(frozen=True)
class CloudSource:
    """A folder in object storage that Ray downloads itself."""

    text: str


@dataclass(frozen=True)
class PackageSource:
    """A GGUF file inside one wheel, or cut in parts over several, with the whole file's sha256."""

    text: str
    requirements: tuple[str, ...]
    file: str
    sha256: str


Source = HubSource | LocalSource | CloudSource | PackageSource


def parse(source: str) -> Source:
    """Read one model source; raises InvalidSource with what would be right."""
    if source != source.strip() or not source or "\0" in source:
        raise InvalidSource(source, "it is empty, or has blanks around it or a NUL inside")
    match = _SCHEME.fullmatch(source)
    if match is None:
        return LocalSource(source)
    scheme, rest = match.groups()
    match scheme:
        case "hf":
            return _hub(source, rest)
        case "s3" | "gs":
            return _cloud(source, rest)
        case "pypi":
            return _package(source, rest)
    raise InvalidSource(
        source, f"unknown scheme {scheme!r}; known are hf://, s3://, gs://, pypi:// and plain paths"
    )


def _hub(text: str, rest: str) -> HubSource:
    repo, at, revision = rest.partition("@")
    if not _REPO.fullmatch(repo) or (at and not _REVISION.fullmatch(revision)):
        raise InvalidSource(text, "expected hf://org/name or hf://org/name@revision")
    return HubSource(text, repo, revision or None)


def _cloud(text: str, rest: str) -> CloudSource:
    bucket, _, key = rest.partition("/")
    if not bucket or not key or any(char.isspace() for char in bucket):
        scheme = text.partition("://")[0]
        raise InvalidSource(text, f"expected {scheme}://bucket/path/to/folder")
    return CloudSource(text)


def _package(text: str, rest: str) -> PackageSource:
    packages, _, fragment = rest.partition("#")
    file, _, query = fragment.partition("?")
    requirements = tuple(packages.split(","))
    for requirement in requirements:
        if not _REQUIREMENT.fullmatch(requirement):
            raise InvalidSource(
                text, f"{requirement!r} is not name or name==version; expected {_PACKAGE_FORM}"
            )
    if not _FILE.fullmatch(file):
        raise InvalidSource(text, f"{file!r} is no .gguf file name; expected {_PACKAGE_FORM}")
    return PackageSource(text, requirements, file, _sha256(text, query))


def _sha256(text: str, query: str) -> str:
    key, _, value = query.partition("=")
    if key != "sha256" or not _SHA256.fullmatch(value.lower()):
        raise InvalidSource(
            text,
            f"after the file name comes ?sha256= and 64 hexadecimal digits, not {query!r}; "
            "sha256sum prints them",
        )
    return value.lower()
