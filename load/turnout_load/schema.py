"""The form of `result.json`: its JSON schema, and reading one back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from turnout_load import result as definitions
from turnout_load.docstrings import field_docs
from turnout_load.errors import BadData
from turnout_load.result import SCHEMA_VERSION, Result


class Version(msgspec.Struct):
    """The part of a result that every version has."""

    schema_version: int


def result_schema() -> dict[str, Any]:
    """Returns the JSON schema (2020-12) of a result, described by the classes' docstrings."""
    schema = msgspec.json.schema(Result)
    for name, part in schema["$defs"].items():
        of = getattr(definitions, name)
        docs = field_docs(of)
        for field in msgspec.structs.fields(of):
            if field.name in docs:
                part["properties"][field.encode_name]["description"] = docs[field.name]
    return schema


def load_result(path: Path) -> Result:
    """Reads a result; raises BadData, naming the field, for any other file."""
    try:
        content = path.read_bytes()
        version = msgspec.json.decode(content, type=Version).schema_version
        if version != SCHEMA_VERSION:
            raise BadData(
                str(path), None, f"has schema version {version}; this tool reads {SCHEMA_VERSION}"
            )
        return msgspec.json.decode(content, type=Result)
    except OSError as error:
        raise BadData(str(path), None, f"cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadData(str(path), None, f"is no result of a run: {error}") from error
