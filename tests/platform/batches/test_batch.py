"""A batch's states, and what is to be done in each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from openai.types import Batch as OpenAIBatch

from turnout.batches.batch import Batch, Status, Step, as_json, next_step

BATCH = Batch(
    id="batch_1",
    team="t",
    key_id="k",
    endpoint="/v1/chat/completions",
    input_file_id="file-1",
    labels={"a": "b"},
    created_at_s=1000.5,
    expires_at_s=87400.5,
)


@pytest.mark.parametrize(
    ("status", "now_s", "step"),
    [
        ("validating", 1001, "validate"),
        ("validating", 87400.5, "expire"),
        ("in_progress", 87400.4, "run"),
        ("in_progress", 87400.5, "expire"),
        ("finalizing", 99999, "complete"),
        ("cancelling", 99999, "cancel"),
        ("completed", 1001, "none"),
        ("failed", 1001, "none"),
        ("expired", 99999, "none"),
        ("cancelled", 1001, "none"),
    ],
)
def test_each_state_has_its_next_step(status: Status, now_s: float, step: Step) -> None:
    assert next_step(replace(BATCH, status=status), now_s) == step


def test_a_batch_is_shown_as_openais_client_reads_it() -> None:
    errors = [{"code": "c", "line": 3, "message": "m", "param": None}]
    batch = replace(
        BATCH,
        status="failed",
        errors=errors,
        total=5,
        completed=3,
        failed=2,
        in_progress_at_s=1001.9,
        output_file_id="file-2",
    )
    read = OpenAIBatch.model_validate(as_json(batch), strict=True)
    assert (read.created_at, read.expires_at, read.in_progress_at) == (1000, 87400, 1001)
    assert read.completed_at is None
    assert read.metadata == {"a": "b"}
    assert read.output_file_id == "file-2"
    assert read.request_counts is not None
    assert (read.request_counts.total, read.request_counts.completed) == (5, 3)
    assert read.request_counts.failed == 2
    assert read.errors is not None
    assert read.errors.data is not None
    assert [(each.code, each.line) for each in read.errors.data] == [("c", 3)]
    assert read.model_extra == {}
