"""The text that an engine held back is found only where the ids are those of the known text."""

from __future__ import annotations

import pytest

from turnout.gateway.resume.seam import held_text


@pytest.mark.parametrize(
    ("decoded", "known", "hidden", "expected"),
    [
        ("Hello wor", "Hello ", 3, "wor"),
        ("Hello", "Hello", 0, ""),
        ("Hello wo", "Hello ", 3, None),
        ("<|im_start|>a long beginning that was seen", "a long beginning that was s", 3, "een"),
        ("Hello", " Hello", 0, ""),  # SentencePiece
        ("caf\N{REPLACEMENT CHARACTER}", "caf", 0, None),
        ("caf\N{REPLACEMENT CHARACTER}", "ca", 2, None),
        ("odd \N{REPLACEMENT CHARACTER}", "odd \N{REPLACEMENT CHARACTER}", 0, ""),
        ("", "", 0, ""),
        ("a", "", 3, None),
        ("another text", "Hello", 0, None),
    ],
)
def test_ids_and_text_meet(decoded: str, known: str, hidden: int, expected: str | None) -> None:
    assert held_text(decoded, known, hidden) == expected
