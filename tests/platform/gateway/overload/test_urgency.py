"""What clients may say of a request's urgency, and what they are told where they say it wrong."""

import pytest

from turnout.gateway.errors import InvalidField
from turnout.gateway.overload.urgency import Priority, deadline_s, priority_of


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"interactive", Priority.INTERACTIVE),
        (b"normal", Priority.NORMAL),
        (b" Batch ", Priority.BATCH),
    ],
)
def test_a_priority_is_one_of_three_names(sent: bytes, expected: Priority) -> None:
    assert priority_of({b"x-turnout-priority": sent}, None) is expected


def test_who_says_nothing_is_normal_and_has_no_deadline() -> None:
    assert priority_of({}, None) is Priority.NORMAL
    assert deadline_s({}) is None


def test_what_this_process_says_wins_over_the_header() -> None:
    assert priority_of({b"x-turnout-priority": b"interactive"}, "batch") is Priority.BATCH


@pytest.mark.parametrize("sent", [b"", b"urgent", b"0", b"\xff"])
def test_another_priority_is_refused_with_the_three_names(sent: bytes) -> None:
    said = "'x-turnout-priority': must be interactive, normal or batch"
    with pytest.raises(InvalidField, match=said):
        priority_of({b"x-turnout-priority": sent}, None)


def test_a_deadline_is_told_in_milliseconds() -> None:
    assert deadline_s({b"x-turnout-deadline-ms": b"1500"}) == 1.5
    assert deadline_s({b"x-turnout-deadline-ms": b" 86400000 "}) == 86_400


@pytest.mark.parametrize(
    "sent", [b"", b"0", b"-5", b"1.5", b"1e3", b"soon", b"86400001", b"9" * 5000, "²".encode()]
)
def test_another_deadline_is_refused(sent: bytes) -> None:
    with pytest.raises(InvalidField, match="'x-turnout-deadline-ms': must be a whole number"):
        deadline_s({b"x-turnout-deadline-ms": sent})
