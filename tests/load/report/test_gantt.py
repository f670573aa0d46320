from collections.abc import Callable

import pytest

from turnout_load.record import Record
from turnout_load.report.gantt import Phase, gantt, phases, slowest, table

Make = Callable[..., Record]


def test_a_request_is_cut_where_it_was_sent_and_where_it_began_to_answer(
    make_request: Make,
) -> None:
    assert list(phases(make_request(0, at=1000))) == [
        Phase("queue", 0, 10),
        Phase("first", 10, 50),
        Phase("stream", 50, 150),
    ]


def test_a_request_without_a_first_token_waited_to_its_end(make_request: Make) -> None:
    timed_out = make_request(0, first_ns=-1, last_ns=-1, error="timeout")
    assert list(phases(timed_out)) == [Phase("queue", 0, 10), Phase("whole", 10, 150)]


def test_a_request_that_was_never_sent_has_one_phase(make_request: Make) -> None:
    refused = make_request(0, sent_ns=-1, first_ns=-1, error="connect")
    assert list(phases(refused)) == [Phase("whole", 0, 150)]


def test_the_slowest_come_first_and_failures_are_among_them(make_request: Make) -> None:
    durations_ms = {0: 100, 1: 400, 2: 200, 3: 300}
    several = [
        make_request(index, end_ns=ms * 1_000_000, error="timeout" if index == 1 else "")
        for index, ms in durations_ms.items()
    ]
    cut_off = make_request(4, end_ns=900_000_000, error="unfinished")
    never_ended = make_request(5, end_ns=-1, error="closed")
    found = slowest([*several, cut_off, never_ended], 3)
    assert [record.index for record in found] == [1, 3, 2]


def test_bars_are_as_wide_as_their_phases_last(make_request: Make) -> None:
    slow = make_request(
        7, at=2500, sent_ns=2_750_000_000, first_ns=3_500_000_000, end_ns=4_500_000_000
    )
    quick = make_request(8, at=0, end_ns=1_000_000_000)
    picture = gantt([slow, quick], run_s=5)
    # 2 s take all of the 638 units between the axes: 319 a second
    bars = list(picture.iter("rect"))
    assert [each.get("class") for each in bars] == ["queue", "first", "stream"] * 2
    assert [float(each.get("x", "")) - 242 for each in bars] == pytest.approx(
        [0, 79.75, 319, 0, 3.19, 15.95]
    )
    assert [float(each.get("width", "")) for each in bars] == pytest.approx(
        [79.75, 239.25, 319, 3.19, 12.76, 303.05]
    )


def test_a_dot_shows_when_in_the_run_a_request_was(make_request: Make) -> None:
    picture = gantt([make_request(0, at=2500), make_request(1)], run_s=5)
    assert [float(each.get("cx", "")) for each in picture.iter("circle")] == [167, 112]  # of 110


def test_bars_tell_their_length_and_why_a_request_failed(make_request: Make) -> None:
    picture = gantt([make_request(3, turn=1, error="closed")], run_s=1)
    told = [each.findtext("title") for each in picture.iter("rect")]
    assert told == [
        "3, turn 2: waits at the client 10.0 ms",
        "3, turn 2: to the first token 40.0 ms",
        "3, turn 2: streams 100 ms",
    ]
    assert "150 ms closed" in [each.text for each in picture.iter("text")]


def test_the_table_has_the_same_requests(make_request: Make) -> None:
    rows = table([make_request(3, at=1500, error="closed", detail="by peer")]).rows
    assert rows == [
        (
            "3",
            "1.5 s",
            "10.0 ms",
            "40.0 ms",
            "100 ms",
            "\N{EN DASH}",
            "150 ms",
            "small",
            "closed",
            "by peer",
        )
    ]
