"""A record as the gateway makes one, and a database that lives in memory and fails on demand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from turnout.usage.record import UsageRecord

RecordOf = Callable[..., UsageRecord]


@pytest.fixture
def record_of() -> RecordOf:
    """Makes records that differ by id and by what a test says."""
    numbers = itertools.count()

    def make(**changes: object) -> UsageRecord:
        plain = {
            "id": f"r{next(numbers)}",
            "at_s": 1_700_000_000.25,
            "team": "search",
            "key_id": "k1",
            "endpoint": "chat",
            "model": "small",
            "market": "spot",
            "status": 200,
            "prompt_tokens": 11,
            "completion_tokens": 4,
        }
        return UsageRecord(**{**plain, **changes})  # type: ignore[arg-type]

    return make


class FakeDatabase:
    """Keeps records by id; `fails` says with what the next insertions end."""

    def __init__(self) -> None:
        self.rows: dict[str, UsageRecord] = {}
        self.fails: list[Exception] = []
        self.loses_answer = False  # commits, then breaks the connection
        self.calls = 0

    async def insert(self, records: Sequence[UsageRecord]) -> int:
        self.calls += 1
        if self.fails and not self.loses_answer:
            raise self.fails.pop(0)
        before = len(self.rows)
        for record in records:
            self.rows.setdefault(record.id, record)
        if self.fails:
            raise self.fails.pop(0)
        return len(self.rows) - before


@pytest.fixture
def memory() -> FakeDatabase:
    return FakeDatabase()
