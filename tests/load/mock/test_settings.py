from __future__ import annotations

from typing import Any

import pytest

from turnout_load.errors import BadOption
from turnout_load.mock.settings import MockSettings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ttft_ms": -1.0}, "--ttft-ms '-1.0': expected 0 or more"),
        ({"itl_ms": float("nan")}, "--itl-ms 'nan': expected 0 or more"),
        ({"whole_ms": float("inf")}, "--whole-ms 'inf': expected 0 or more"),
        ({"tokens": -3}, "--tokens '-3': expected 0 or more"),
        ({"tokens_per_chunk": 0}, "--tokens-per-chunk '0': expected 1 or more"),
        ({"cached_share": 1.5}, "--cached-share '1.5': expected a share, 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused_by_its_options_name(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOption) as refused:
        MockSettings(**wrong)
    assert str(refused.value) == message
