from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from turnout_load.errors import BadData
from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.result import Result
from turnout_load.schema import Form, load_result, schema_of
from turnout_load.spec import Spec, Target, Workload
from turnout_load.summarize import Facts, summarize


def measured() -> Result:
    records = Records()
    for index in range(100):
        records.append(
            Record(
                index=index,
                intended_ns=index * 1_000_000,
                sent_ns=index * 1_000_000,
                first_ns=index * 1_000_000 + 7_000_000,
                last_ns=index * 1_000_000 + 9_000_000,
                end_ns=index * 1_000_000 + 9_500_000,
                chunks=3,
                input_tokens=8,
                output_tokens=3,
                cached_tokens=4,
                model="small",
                team="search",
                error="" if index else "stalled",
            )
        )
        records.add_gap(1_000_000)
    spec = Spec(
        target=Target(url="http://127.0.0.1:1/v1", model="auto"),
        workload=Workload(arrivals="steps", steps=(1.0, 2.0)),
        slo=("ttft<500ms",),
        price={"*": "1/2"},
    )
    return summarize(records, spec, Facts("2025-01-01T00:00:00", 1, False, {}, 1, 0.1, 1, 1, 1))


@pytest.fixture
def encoded() -> bytes:
    return msgspec.json.encode(measured())


@pytest.fixture
def decoded(encoded: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(encoded)
    return found


def validator(form: Form = Form.RESULT) -> jsonschema.Draft202012Validator:
    schema = schema_of(form)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_a_measured_result_has_the_schemas_form(decoded: dict[str, Any]) -> None:
    assert list(validator().iter_errors(decoded)) == []
    assert decoded["ttft_ms"]["p99.9"] == 7


def test_the_schema_refuses_what_is_no_result(decoded: dict[str, Any]) -> None:
    del decoded["rates"]
    decoded["ttft_ms"]["p50"] = "fast"
    decoded["surprise"] = 1
    problems = sorted(problem.message for problem in validator().iter_errors(decoded))
    assert len(problems) == 3


def test_the_schema_describes_classes_and_their_fields() -> None:
    definitions = schema_of(Form.RESULT)["$defs"]
    assert definitions["Goodput"]["description"] == "Requests that met the SLO."
    assert definitions["Result"]["properties"]["started_at"]["description"] == "UTC, ISO 8601."
    assert "p99.9" in definitions["Distribution"]["properties"]


def test_sweeps_and_comparisons_have_schemas_of_their_own() -> None:
    sweep, comparison = (schema_of(form)["$defs"] for form in (Form.SWEEP, Form.COMPARISON))
    point = sweep["SweepPoint"]["properties"]
    assert point["because"]["description"] == "Which figure decided it."
    pairs = comparison["Comparison"]["properties"]["pairs"]
    assert pairs["description"] == "Requests that both sides answered."
    for form in Form:
        problems = [problem.message for problem in validator(form).iter_errors({})]
        assert problems, form


def test_a_written_result_is_read_back(
    encoded: bytes, decoded: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "result.json").write_bytes(encoded)
    assert json.loads(msgspec.json.encode(load_result(tmp_path / "result.json"))) == decoded


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"ttft_ms": {"count": "many"}}, r"`\$\.ttft_ms\.count`"),
        ({"schema_version": 99}, "has schema version 99; this tool reads 1"),
        ({"schema_version": "x"}, r"`\$\.schema_version`"),
        ({"surprise": 1}, "unknown field `surprise`"),
    ],
)
def test_a_file_with_a_wrong_field_is_refused_by_the_fields_name(
    change: dict[str, Any], problem: str, decoded: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(decoded | change))
    with pytest.raises(BadData, match=problem) as refused:
        load_result(path)
    assert str(refused.value).startswith(f"{path}: ")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"a": 1}'])
def test_a_file_that_is_no_result_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(BadData, match="is no result of a run: "):
        load_result(path)


def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="cannot be read: No such file or directory"):
        load_result(tmp_path / "missing.json")
    with pytest.raises(BadData, match="cannot be read: Is a directory"):
        load_result(tmp_path)
