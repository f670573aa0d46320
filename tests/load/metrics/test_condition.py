from __future__ import annotations

import pytest

from turnout_load.errors import BadOption
from turnout_load.metrics.condition import Condition, parse

KINDS = {"ttft.p99.9": "time", "goodput": "share", "rate": "number"}


def read(text: str) -> Condition:
    return parse("--assert", text, KINDS, "ttft.p99.9, goodput, rate")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("ttft.p99.9<500ms", 500),
        ("ttft.p99.9 <= 1.5 s", 1500),
        ("ttft.p99.9<250us", 0.25),
        ("ttft.p99.9<30000ns", 0.03),
        ("goodput>0.99", 0.99),
        ("goodput>=99.9%", 0.999),
        (" rate>50 ", 50),
    ],
)
def test_limits_are_read_with_their_units(text: str, limit: float) -> None:
    assert read(text).limit == limit
    assert read(text).text == text.strip()


@pytest.mark.parametrize(
    ("comparison", "below", "at", "above"),
    [
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
    ],
)
def test_a_value_is_compared_as_written(
    comparison: str, below: bool, at: bool, above: bool
) -> None:
    condition = read(f"rate{comparison}50")
    assert [condition.holds(value) for value in (49.9, 50, 50.1)] == [below, at, above]


def test_what_was_not_measured_keeps_no_bound() -> None:
    assert not read("rate>0").holds(None)
    assert not read("rate<9").holds(None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("goodput", "NAME<LIMIT"),
        ("goodput=1", "NAME<LIMIT"),
        ("goodput>-1", "NAME<LIMIT"),
        ("goodput>", "NAME<LIMIT"),
        ("", "NAME<LIMIT"),
        ("godput>1", "ttft.p99.9, goodput, rate in place of 'godput'"),
        ("ttft.p99.9<500", "one of: ns, us, ms, s"),
        ("ttft.p99.9<5min", "one of: ns, us, ms, s"),
        ("goodput>1s", "one of: no unit, %"),
        ("rate>5%", "one of: no unit"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_with_what_may_stand_there(
    text: str, expected: str
) -> None:
    with pytest.raises(BadOption) as refused:
        read(text)
    assert str(refused.value).startswith(f"--assert {text!r}: expected ")
    assert expected in str(refused.value)
