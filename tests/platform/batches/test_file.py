from __future__ import annotations

import pytest
from openai.types import FileObject

from turnout.batches.file import File, as_json, plain_name


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("in.jsonl", "in.jsonl"),
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\in.jsonl", "in.jsonl"),
        ("a\x00b\r\n.jsonl", "ab.jsonl"),
        ("", "file"),
        ("/", "file"),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_name_keeps_no_folder_and_no_sign_that_names_have_not(sent: str, kept: str) -> None:
    assert plain_name(sent) == kept


def test_a_file_is_shown_as_openais_client_reads_it() -> None:
    file = File("file-1", "t", "k", "batch", "in.jsonl", 12, 1000.7, 2000.2)
    read = FileObject.model_validate(as_json(file), strict=True)
    assert (read.bytes, read.created_at, read.expires_at) == (12, 1000, 2000)
    assert (read.filename, read.purpose, read.status) == ("in.jsonl", "batch", "processed")
