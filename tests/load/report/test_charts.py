from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element

import pytest

from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.report.charts import (
    cdf_chart,
    finished_chart,
    in_flight_chart,
    throughput_latency,
    ttft_chart,
)
from turnout_load.report.curves import Timeline, cdf, timeline
from turnout_load.result import Distribution, Rates, Result

Points = list[tuple[float, float]]


def drawn(picture: Element, style: str) -> Points:
    """The lines of a style, in the picture's units."""
    return [
        (float(x), float(y))
        for line in picture.iter("polyline")
        if style in (line.get("class") or "").split()
        for x, y in (pair.split(",") for pair in (line.get("points") or "").split())
    ]


def ticks(picture: Element, kind: str) -> dict[str, float]:
    """Where the ticks' labels stand: along the bottom for `middle`, up the side for `end`."""
    found = [each for each in picture.iter("text") if each.get("class") == f"{kind} tick"]
    along, up = {"middle": ("x", 0), "end": ("y", -4)}[kind]
    return {each.text or "": float(each.get(along, "")) + up for each in found}


def read(picture: Element, style: str, x: tuple[str, str], y: tuple[str, str]) -> Points:
    """The points as a reader takes them off linear axes, by two ticks of each."""
    across, up = ticks(picture, "middle"), ticks(picture, "end")

    def between(at: float, places: dict[str, float], two: tuple[str, str]) -> float:
        first, last = (float(each.replace(",", "")) for each in two)
        begin, end = (places[each] for each in two)
        return first + (at - begin) / (end - begin) * (last - first)

    return [(between(a, across, x), between(b, up, y)) for a, b in drawn(picture, style)]


def test_a_cdf_passes_through_its_values() -> None:
    picture = cdf_chart("TTFT", "requests", [cdf([10.0, 20.0, 30.0, 50.0])])
    assert read(picture, "one", ("10", "50"), ("0", "100")) == [
        pytest.approx(point, abs=0.05)
        for point in [
            (10, 0),
            (10, 25),
            (20, 25),
            (20, 50),
            (30, 50),
            (30, 75),
            (50, 75),
            (50, 100),
        ]
    ]


def test_a_cdf_names_its_metric_and_unit() -> None:
    short = cdf_chart("TTFT", "requests", [cdf([10.0, 20.0])])
    long = cdf_chart("E2E", "requests", [cdf([4000.0, 8000.0])])
    assert {"TTFT, ms", "% of requests"} <= {each.text for each in short.iter("text")}
    assert "E2E, s" in {each.text for each in long.iter("text")}
    assert read(long, "one", ("4", "8"), ("0", "100"))[-1] == pytest.approx((8, 100), abs=0.05)


def test_a_wide_cdf_is_drawn_by_decades() -> None:
    picture = cdf_chart("TTFT", "requests", [cdf([10.0, 100.0, 1000.0])])
    places = sorted({x for x, _ in drawn(picture, "one")})
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.02)


def test_two_runs_share_the_axes_of_one_chart() -> None:
    picture = cdf_chart("TTFT", "requests", [cdf([10.0, 20.0]), cdf([30.0, 50.0])])
    assert read(picture, "one", ("10", "50"), ("0", "100"))[-1] == pytest.approx((20, 100), abs=0.1)
    assert read(picture, "two", ("10", "50"), ("0", "100"))[-1] == pytest.approx((50, 100), abs=0.1)


@pytest.fixture
def run(
    make_request: Callable[..., Record], make_records: Callable[[Iterable[Record]], Records]
) -> Timeline:
    """10 requests in each of 4 s, two at a time; those in the third second failed."""
    failed = {"error": "http 503", "status": 503}
    return timeline(
        make_records(
            make_request(number, at=number // 10 * 1000 + 94 * (number % 10), **changes)
            for number in range(40)
            for changes in [failed if number // 10 == 2 else {}]
        )
    )


def test_time_lines_show_each_interval_at_its_middle(run: Timeline) -> None:
    axes = ("0", "3"), ("0", "10")
    ok = read(finished_chart(run, 0), "one", *axes)
    failed = read(finished_chart(run, 0), "two", *axes)
    expected = [(0.5, 10), (1.5, 10), (2.5, 0), (3.5, 10)]
    assert ok == [pytest.approx(point, abs=0.05) for point in expected]
    assert failed == [pytest.approx((x, 10 - y), abs=0.05) for x, y in expected]
    peaks = read(in_flight_chart(run, 0), "one", ("0", "3"), ("0", "2"))
    assert [y for _, y in peaks] == pytest.approx([2, 2, 2, 2], abs=0.05)


def test_ttft_over_time_is_broken_where_nothing_answered(run: Timeline) -> None:
    picture = ttft_chart(run, 0)
    middle_and_tail = read(picture, "one", ("0", "3"), ("0", "40"))
    assert middle_and_tail == [pytest.approx((x, 50), abs=0.1) for x in (0.5, 1.5)]
    assert len(list(picture.iter("circle"))) == 2  # the last second alone: p50 and p95


def test_the_warm_up_is_shaded(run: Timeline) -> None:
    (band,) = in_flight_chart(run, 2.0).iter("rect")
    across = ticks(in_flight_chart(run, 2.0), "middle")
    assert float(band.get("width", "")) == pytest.approx(across["2"] - across["0"], abs=0.02)
    assert not list(in_flight_chart(run, 0).iter("rect"))


@pytest.fixture
def swept(
    make_result: Callable[..., Result], make_distribution: Callable[..., Distribution]
) -> list[tuple[float, Result]]:
    """Rates in the order of a bisection: 32/s reaches only 20/s."""
    return [
        (
            rate,
            make_result(
                ttft_ms=make_distribution(p50),
                rates=Rates(
                    measured_s=10.0,
                    requests_intended=rate,
                    requests_finished=finished,
                    input_tokens=None,
                    output_tokens=None,
                ),
            ),
        )
        for rate, finished, p50 in [(8.0, 8.0, 10.0), (32.0, 20.0, 40.0), (16.0, 15.0, 20.0)]
    ]


def test_latency_is_drawn_over_the_throughput_reached(swept: list[tuple[float, Result]]) -> None:
    picture = throughput_latency(swept, 16.0, "TTFT", lambda each: each.ttft_ms)
    assert picture is not None
    axes = ("0", "20"), ("0", "120")
    assert read(picture, "one", *axes) == [
        pytest.approx(point, abs=0.1) for point in [(8, 10), (15, 20), (20, 40)]
    ]
    assert read(picture, "two", *axes) == [
        pytest.approx(point, abs=0.1) for point in [(8, 30), (15, 60), (20, 120)]
    ]


def test_the_knee_is_marked_where_its_rate_came_to(swept: list[tuple[float, Result]]) -> None:
    picture = throughput_latency(swept, 16.0, "TTFT", lambda each: each.ttft_ms)
    assert picture is not None
    (mark,) = [each for each in picture.iter("line") if each.get("class") == "mark"]
    across = ticks(picture, "middle")
    assert float(mark.get("x1", "")) == pytest.approx((across["10"] + across["20"]) / 2, abs=0.02)
    assert "knee: 16/s sent" in [each.text for each in picture.iter("text")]


def test_a_sweep_without_a_knee_or_a_metric_claims_none(
    swept: list[tuple[float, Result]],
) -> None:
    picture = throughput_latency(swept, None, "TTFT", lambda each: each.ttft_ms)
    assert picture is not None
    assert "mark" not in [each.get("class") for each in picture.iter("line")]
    assert throughput_latency(swept, None, "ITL", lambda each: each.itl_ms) is None
