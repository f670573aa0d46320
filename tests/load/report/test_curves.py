from collections.abc import Callable, Iterable

import pytest

from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.report.curves import cdf, cdf_of, timeline
from turnout_load.result import Distribution

Make = Callable[..., Record]
MakeAll = Callable[[Iterable[Record]], Records]


def test_a_cdf_rises_by_its_share_at_each_value() -> None:
    assert cdf([10.0, 20.0, 20.0, 40.0]) == [
        (10.0, 0.0),
        (10.0, 0.25),
        (20.0, 0.25),
        (20.0, 0.5),
        (20.0, 0.5),
        (20.0, 0.75),
        (40.0, 0.75),
        (40.0, 1.0),
    ]


def test_a_cdf_of_nothing_is_empty() -> None:
    assert cdf([]) == []


def test_a_large_cdf_keeps_few_points_and_all_of_its_tail() -> None:
    points = cdf([float(number) for number in range(1, 100_001)])
    assert len(points) < 1000
    # of the numbers from 1 to n, the share at or below k is k / n
    assert all(at == pytest.approx(value / 100_000, abs=0.004) for value, at in points)
    assert [point for point in points if point[0] > 99_990][1::2] == [
        (float(number), number / 100_000) for number in range(99_991, 100_001)
    ]


def test_a_distribution_alone_tells_the_cdf_at_its_percentiles(
    make_distribution: Callable[..., Distribution],
) -> None:
    assert cdf_of(make_distribution(100.0)) == [
        (50.0, 0.0),
        (100.0, 0.5),
        (150.0, 0.75),
        (200.0, 0.9),
        (300.0, 0.95),
        (400.0, 0.99),
        (500.0, 0.999),
        (1000.0, 1.0),
    ]


def test_a_timeline_counts_what_ended_in_each_second(
    make_request: Make, make_records: MakeAll
) -> None:
    # one request every 100 ms, each 150 ms long: the last of 40 ends at 4.05 s, so that the last
    # interval takes 1.05 s; in the first second end those sent up to 0.8 s
    cut = timeline(make_records(make_request(number, at=number * 100) for number in range(40)))
    assert cut.width_s == 1
    assert cut.end_s == 4.05
    assert [each.ok_per_s for each in cut.intervals] == [9, 10, 10, pytest.approx(11 / 1.05)]
    assert {each.failed_per_s for each in cut.intervals} == {0}


def test_a_timeline_has_the_most_requests_in_flight(
    make_request: Make, make_records: MakeAll
) -> None:
    sent_at = {0: 0, 1: 50, 2: 100, 3: 6000}  # 0 to 2 overlap between 110 and 150 ms
    several = make_records(make_request(index, at=at) for index, at in sent_at.items())
    cut = timeline(several)
    peaks = {each.begin_s: each.peak_in_flight for each in cut.intervals}
    assert cut.width_s == 1
    assert peaks == {0: 3, 1: 0, 2: 0, 3: 0, 4: 0, 5: 1}


def test_a_request_under_way_counts_until_the_end(
    make_request: Make, make_records: MakeAll
) -> None:
    stalled = make_request(0, error="timeout", end_ns=4_000_000_000)
    cut = timeline(make_records([stalled, make_request(1, at=2000)]))
    assert [each.peak_in_flight for each in cut.intervals] == [1, 1, 2, 1]
    assert [each.failed_per_s for each in cut.intervals] == [0, 0, 0, 1]


def test_first_tokens_count_where_their_requests_were_to_be_sent(
    make_request: Make, make_records: MakeAll
) -> None:
    # 21 TTFTs of 100, 101 … 120 ms in the first second, for requests that end in the second one
    slow = [
        make_request(number, first_ns=(100 + number) * 1_000_000, end_ns=2_000_000_000)
        for number in range(21)
    ]
    failed = make_request(30, error="closed", first_ns=900_000_000)
    cut = timeline(make_records([*slow, failed]))
    assert [each.ttft_ms for each in cut.intervals] == [(110.0, 119.0), None]


def test_requests_cut_off_by_the_end_did_not_fail(
    make_request: Make, make_records: MakeAll
) -> None:
    cut = timeline(make_records([make_request(0, error="unfinished")]))
    assert [(each.ok_per_s, each.failed_per_s) for each in cut.intervals] == [(0, 0)]


@pytest.mark.parametrize(
    ("duration_s", "requests", "width_s"),
    [(20, 400, 1), (3600, 2000, 30), (100, 100, 5), (400_000, 2000, 3600)],
)
def test_intervals_are_few_and_hold_enough(
    make_request: Make, make_records: MakeAll, duration_s: int, requests: int, width_s: int
) -> None:
    gap_ms = duration_s * 1000 / requests
    several = make_records(make_request(number, at=number * gap_ms) for number in range(requests))
    cut = timeline(several)
    assert cut.width_s == width_s
    assert cut.end_s >= duration_s - gap_ms / 1000
