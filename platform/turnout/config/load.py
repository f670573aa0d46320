"""Reads a config file from disk: the edge around the pure checks."""

from dataclasses import replace
from pathlib import Path

from turnout.config.check import Findings, check
from turnout.config.deployment_file import DeploymentFile
from turnout.config.document import parse
from turnout.config.errors import ConfigInvalid, ConfigUnreadable
from turnout.config.known_facts import known_facts
from turnout.config.problems import Document
from turnout.config.view import view
from turnout_router import artifact
from turnout_router.errors import ArtifactError

_MAX_BYTES = 4 * 1024 * 1024


def load(path: Path) -> DeploymentFile:
    """Reads and checks a file; raises `ConfigUnreadable`, or `ConfigInvalid` with all mistakes."""
    findings = inspect(path)
    if findings.file is None:
        raise ConfigInvalid(str(path), findings.problems)
    return findings.file


def inspect(path: Path) -> Findings:
    """Checks a config file with what is known on this machine; raises `ConfigUnreadable`."""
    document = read(path)
    args = [args for _, args in view(document).engines]
    return _with_artifact(check(document, known_facts(args)), document)


def _with_artifact(findings: Findings, document: Document) -> Findings:
    """Adds what is wrong with the router's trained artifact: only this machine can tell."""
    file = findings.file
    if file is None or file.settings.router is None:
        return findings
    encoder = file.settings.router.encoder
    try:
        artifact.load(encoder)
    except ArtifactError as error:
        place = file.applications.index(file.gateway)
        loc = ("applications", place, "deployments", 0, "user_config", "router", "encoder")
        return replace(findings, file=None, problems=(document.problem(loc, encoder, str(error)),))
    return findings


def read(path: Path) -> Document:
    """Parses a config file; raises `ConfigUnreadable`."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except IsADirectoryError as error:
        raise ConfigUnreadable(str(path), "is a folder: name the YAML file in it") from error
    except OSError as error:
        raise ConfigUnreadable(str(path), f"{error.strerror or error}") from error
    if len(content) > _MAX_BYTES:
        raise ConfigUnreadable(str(path), f"larger than {_MAX_BYTES} bytes: not a config file")
    try:
        return parse(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigUnreadable(str(path), "not UTF-8 text: not a config file") from error
