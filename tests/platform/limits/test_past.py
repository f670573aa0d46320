import asyncio
import logging

import pytest

from turnout.limits.amounts import Subject
from turnout.limits.past import Answer, PastSpending

TEAM = Subject("team", "search")


class Store:
    def __init__(self) -> None:
        self.is_down = True
        self.asked = 0

    async def spent_usd(self, _subject: Subject, _since_s: float) -> float:
        self.asked += 1
        if self.is_down:
            raise OSError("sk-secret is in this message")
        return 2.5


@pytest.fixture
def store() -> Store:
    return Store()


async def test_dollars_come_back_as_billionths_with_what_was_counted_when_asked(
    store: Store,
) -> None:
    store.is_down = False
    past = PastSpending(store.spent_usd, timeout_s=30)
    assert await past.since(TEAM, 0, own=7) == Answer(told=2_500_000_000, own=7)


async def test_a_store_that_is_down_is_asked_again_only_after_a_while(store: Store) -> None:
    past = PastSpending(store.spent_usd, timeout_s=30, retry_s=3600)
    assert [await past.since(TEAM, 0, 0) for _ in range(5)] == [None] * 5
    assert store.asked == 1


async def test_a_store_that_is_back_is_heard(store: Store) -> None:
    past = PastSpending(store.spent_usd, timeout_s=30, retry_s=0)
    assert await past.since(TEAM, 0, 0) is None
    store.is_down = False
    assert await past.since(TEAM, 0, own=3) == Answer(2_500_000_000, 3)


async def test_a_store_that_is_down_is_logged_once_and_without_its_message(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    past = PastSpending(store.spent_usd, timeout_s=30, retry_s=0)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await past.since(TEAM, 0, 0)
    assert [record.getMessage() for record in caplog.records] == ["spending_unknown"]
    assert "secret" not in str(caplog.records[0].__dict__)


async def test_questions_are_bounded_while_the_store_answers_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("turnout.limits.past.MOST_QUESTIONS", 3)
    gate = asyncio.Event()

    async def waits(_subject: Subject, _since_s: float) -> float:
        await gate.wait()
        return 1.0

    past = PastSpending(waits, timeout_s=0)
    for number in range(9):
        assert await past.since(Subject("key", str(number)), 0, 0) is None
    assert len(past._questions) == 3
    gate.set()
    await asyncio.gather(*(each.task for each in past._questions.values()))
