from __future__ import annotations

from dataclasses import replace

import pytest

from turnout_load.record import Record

MS = 1_000_000

STREAMED = Record(
    index=0,
    intended_ns=1000 * MS,
    sent_ns=1002 * MS,
    first_ns=1050 * MS,
    last_ns=1090 * MS,
    end_ns=1100 * MS,
    status=200,
    chunks=5,
    input_tokens=100,
    output_tokens=11,
    model="small",
)


@pytest.fixture
def streamed() -> Record:
    """A request sent 2 ms late: TTFT 50 ms, four gaps of 10 ms, 11 tokens, E2E 100 ms."""
    return replace(STREAMED)


@pytest.fixture
def whole() -> Record:
    """The same request, not streamed."""
    return replace(STREAMED, first_ns=-1, last_ns=-1, chunks=1)


@pytest.fixture
def failed() -> Record:
    """A request that the server refused after 1 ms."""
    return Record(
        index=1,
        intended_ns=1000 * MS,
        sent_ns=1000 * MS,
        end_ns=1001 * MS,
        status=429,
        error="http 429",
        detail="too many requests",
    )
