"""The form of the files of figures: their JSON schemas, and reading a result back."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from turnout_load import comparison, result, sweep_result
from turnout_load.comparison import Comparison
from turnout_load.docstrings import field_docs
from turnout_load.errors import BadData
from turnout_load.result import SCHEMA_VERSION, Result
from turnout_load.sweep_result import SweepResult


class Form(StrEnum):
    """The files of figures: `result.json`, `sweep.json` and `comparison.json`."""

    RESULT = "result"
    SWEEP = "sweep"
    COMPARISON = "comparison"


WHOLE = {Form.RESULT: Result, Form.SWEEP: SweepResult, Form.COMPARISON: Comparison}
PARTS = vars(result) | vars(sweep_result) | vars(comparison)


class Version(msgspec.Struct):
    """The part of a result that every version has."""

    schema_version: int


def schema_of(form: Form) -> dict[str, Any]:
    """Returns a file's JSON schema (2020-12), described by the classes' docstrings."""
    schema = msgspec.json.schema(WHOLE[form])
    for name, part in schema["$defs"].items():
        of = PARTS[name]
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
