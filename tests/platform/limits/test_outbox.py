import logging

import pytest

from turnout.limits.outbox import Outbox
from turnout.limits.periods import Periods
from turnout.limits.scripts import Settlement


def settlement(number: int) -> Settlement:
    return Settlement(str(number), "settle", (), Periods(0, 0))


def tokens(settlements: list[Settlement]) -> list[str]:
    return [each.token for each in settlements]


def test_the_oldest_leave_first_and_come_back_to_the_front() -> None:
    box = Outbox()
    for number in range(5):
        box.put(settlement(number))
    taken = box.take(2)
    assert tokens(taken) == ["0", "1"]
    box.put_back(taken)
    assert tokens(box.take(9)) == ["0", "1", "2", "3", "4"]


def test_a_full_box_drops_the_oldest_and_says_how_many(
    caplog: pytest.LogCaptureFixture,
) -> None:
    box = Outbox(most=3)
    for number in range(5):
        box.put(settlement(number))
    with caplog.at_level(logging.ERROR):
        box.report()
        box.report()
    assert [(record.msg, record.__dict__["count"]) for record in caplog.records] == [
        ("settlements_dropped", 2)
    ]
    assert tokens(box.take(9)) == ["2", "3", "4"]
