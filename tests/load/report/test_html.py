import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import pytest

from turnout_load.comparison import Comparison, MetricDifference
from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.report.html import comparison_page, run_page, sweep_page
from turnout_load.result import Distribution, ErrorKind, ModelUsed, Result
from turnout_load.sweep_result import SweepPoint, SweepResult

HOSTILE = """<script>alert(1)</script><img src=x onerror="alert(2)">'"></td></svg><style>*{}"""
Make = Callable[..., Record]
MakeAll = Callable[[Iterable[Record]], Records]
MakeResult = Callable[..., Result]


class Parsed(Protocol):
    tags: list[tuple[str, dict[str, str]]]

    @property
    def names(self) -> set[str]: ...
    def all_text(self, *within: str) -> str: ...


Parse = Callable[[str], Parsed]


@pytest.fixture
def records(make_request: Make, make_records: MakeAll) -> Records:
    """20 requests, 100 ms apart; the last one timed out."""
    answered = [make_request(number, at=100 * number) for number in range(19)]
    return make_records([*answered, make_request(19, at=1900, error="timeout", first_ns=-1)])


def hostile(make_result: MakeResult, **changes: Any) -> Result:
    values: dict[str, Any] = {
        "spec": {"target": {"model": HOSTILE, "url": HOSTILE}, "workload": {"dataset": HOSTILE}},
        "environment": {HOSTILE: HOSTILE},
        "errors": {HOSTILE: ErrorKind(count=1, example=HOSTILE)},
        "models": {
            HOSTILE: ModelUsed(
                requests=1, share=1.0, output_tokens=1, ttft_ms=None, e2e_ms=None, usd=None
            )
        },
        "notes": [HOSTILE],
    }
    return make_result(**values | changes)


def compared(a: Result, b: Result, name: str = "B") -> Comparison:
    return Comparison(
        a="A's name",
        b=name,
        rounds=2,
        pairs=20,
        metrics=[
            MetricDifference(
                name="ttft.p95",
                a=100.0,
                b=88.0,
                difference_percent=-12.0,
                ci95_percent=(-15.0, -9.0),
                verdict="B is 12% ± 3% faster at p95 TTFT",
            )
        ],
        a_result=a,
        b_result=b,
        share_by_model={name: (1.0, 0.0)},
        notes=[name],
    )


def swept(points: Iterable[tuple[float, Result]], because: str = "met") -> SweepResult:
    return SweepResult(
        slo=[because],
        points=[
            SweepPoint(rate=rate, meets_slo=True, because=because, result=result)
            for rate, result in points
        ],
        highest_rate=8.0,
        knee=8.0,
        notes=[because],
    )


def test_a_run_has_every_section_and_a_picture_for_each_chart(
    make_result: MakeResult, records: Records, parse: Parse
) -> None:
    page = parse(run_page(make_result(), records))
    headings = page.all_text("h2").split("\n")
    assert headings == [
        "Latency",
        "Over time",
        "Throughput and cost",
        "Slowest requests",
        "Conditions",
    ]
    pictures = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
    assert [label.split(".")[0] for label in pictures] == [
        "Distribution of TTFT",
        "Distribution of E2E",
        "Requests in flight",
        "Requests finished",
        "TTFT over time",
        "The 20 slowest requests",
    ]
    assert "auto at http://127.0.0.1:8000/v1" in page.all_text("h1")


def test_every_picture_has_a_title_a_description_and_a_table(
    make_result: MakeResult, records: Records, parse: Parse
) -> None:
    page = parse(run_page(make_result(), records))
    count = sum(tag == "svg" for tag, _ in page.tags)
    assert sum(tag == "desc" for tag, _ in page.tags) == count
    assert sum(tag == "title" for tag, _ in page.tags) >= count + 1
    assert {"table", "thead", "th", "details"} <= page.names


def test_a_page_needs_nothing_but_itself(
    make_result: MakeResult, records: Records, parse: Parse
) -> None:
    page = parse(run_page(make_result(), records))
    assert not page.names & {"script", "link", "img", "iframe", "object", "use", "a"}
    given = {name for _, attributes in page.tags for name in attributes}
    assert not given & {"src", "href", "xlink:href", "srcset", "action"}
    (style,) = [page.all_text("style")]
    assert not re.search(r"url\(|@import|https?:", style)
    (policy,) = [a["content"] for _, a in page.tags if "http-equiv" in a]
    assert policy.startswith("default-src 'none'")


def test_a_page_follows_the_readers_colours_and_prints(
    make_result: MakeResult, records: Records, parse: Parse
) -> None:
    style = parse(run_page(make_result(), records)).all_text("style")
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style
    assert "tabular-nums" in style


def test_every_class_of_a_mark_has_a_style(
    make_result: MakeResult, records: Records, parse: Parse
) -> None:
    page = parse(run_page(make_result(spec={"warm_up_s": 0.5}), records))
    style = page.all_text("style")
    marks = {
        tuple(attributes["class"].split())
        for tag, attributes in page.tags
        if tag in {"rect", "polyline", "line", "circle"}
    }
    assert {each for classes in marks for each in classes if f".{each}" not in style} == set()


def test_what_servers_say_is_text(
    make_result: MakeResult, make_request: Make, make_records: MakeAll, parse: Parse
) -> None:
    told = {"error": HOSTILE, "detail": HOSTILE, "model": HOSTILE, "team": HOSTILE}
    records = make_records([make_request(0), make_request(1, **told)])
    result = hostile(make_result)
    pages = [
        run_page(result, records),
        comparison_page(compared(result, result, HOSTILE), records, records),
        sweep_page(swept([(8.0, result)], HOSTILE)),
    ]
    for page in map(parse, pages):
        assert not page.names & {"script", "img"}
        assert sum(tag == "style" for tag, _ in page.tags) == 1
        assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
        assert page.all_text("td", "code", "h1", "p").count(HOSTILE) >= 3


def test_a_page_of_100_000_requests_stays_small(
    make_result: MakeResult, make_request: Make, make_records: MakeAll, parse: Parse
) -> None:
    several = make_records(
        make_request(number, at=number * 36, detail="x" * 50, first_ns=number * 36_000_123 + 10**7)
        for number in range(100_000)
    )
    content = run_page(make_result(), several)
    assert len(content.encode()) < 2_000_000
    assert "The 50 slowest requests" in content


def test_the_warm_up_is_in_no_distribution(
    make_result: MakeResult, make_request: Make, make_records: MakeAll, parse: Parse
) -> None:
    slow_start = make_request(0, end_ns=9_000_000_000)
    several = make_records([slow_start, *(make_request(each, at=5000) for each in range(1, 9))])
    spec = {"warm_up_s": 5.0, "target": {}}
    page = parse(run_page(make_result(spec=spec), several))
    labels = [a.get("aria-label", "") for _, a in page.tags]
    assert any(label.startswith("The 8 slowest requests") for label in labels)
    assert "9,000 ms" not in page.all_text()


def test_a_run_without_an_answer_has_no_curves(
    make_result: MakeResult, make_records: MakeAll, parse: Parse
) -> None:
    page = parse(run_page(make_result(ttft_ms=None, e2e_ms=None), make_records([])))
    assert "svg" not in page.names
    assert "Finished" in page.all_text("dt")


def test_gaps_make_the_curve_of_the_itl(
    make_result: MakeResult,
    records: Records,
    make_distribution: Callable[..., Distribution],
    parse: Parse,
) -> None:
    result = make_result(itl_ms=make_distribution(10.0))
    without = parse(run_page(result, records))
    for gap_ms in (10, 20, 30):
        records.add_gap(gap_ms * 1_000_000)
    page = parse(run_page(result, records))
    for each, corners in ((without, 8), (page, 6)):  # 8 percentiles; a corner below and at each gap
        (place,) = [
            number
            for number, (_, attributes) in enumerate(each.tags)
            if attributes.get("aria-label", "").startswith("Distribution of ITL")
        ]
        line = next(a for tag, a in each.tags[place:] if tag == "polyline")
        assert len(line["points"].split()) == corners


def test_a_comparison_draws_both_in_one_chart(
    make_result: MakeResult, records: Records, parse: Parse
) -> None:
    page = parse(comparison_page(compared(make_result(), make_result()), records, records))
    assert "B is 12% ± 3% faster at p95 TTFT" in page.all_text("td")
    places = [n for n, (tag, _) in enumerate(page.tags) if tag == "svg"]
    first = page.tags[places[0] : places[1]]
    assert [a["class"] for tag, a in first if tag == "polyline"] == ["line one", "line two"]


def test_a_sweep_shows_its_knee_and_rates(make_result: MakeResult, parse: Parse) -> None:
    runs = [(rate, make_result()) for rate in (16.0, 8.0, 4.0)]
    page = parse(sweep_page(swept(runs, "ttft.p95<500ms")))
    assert page.all_text("text").count("knee: 8/s sent") == 2  # TTFT and E2E
    assert "Up to 8 conversations per second meet ttft.p95<500ms" in page.all_text("p")
    assert sum(tag == "circle" for tag, _ in page.tags) == 3 * 2 * 2


def test_an_empty_sweep_is_still_a_page(parse: Parse) -> None:
    assert "h1" in parse(sweep_page(swept([]))).names
