import re
from collections.abc import Callable

import pytest

from turnout_load.comparison import Comparison, MetricDifference
from turnout_load.report.markdown import comparison_summary, run_summary, sweep_summary
from turnout_load.result import Distribution, ErrorKind, Result
from turnout_load.sweep_result import SweepPoint, SweepResult

Make = Callable[..., Result]


def tables(page: str) -> list[list[list[str]]]:
    """Tables as GitHub reads them: cells by row, a pipe after a backslash being text."""
    found: list[list[list[str]]] = [[]]
    for line in page.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


def test_a_run_is_summed_up_in_a_table_of_percentiles(make_result: Make) -> None:
    page = run_summary(make_result())
    assert page.startswith("## Load: `auto` at `http://127.0.0.1:8000/v1`\n")
    assert "poisson arrivals at 10/s, for 10 s, fixed:128 input tokens, seed 7." in page
    assert tables(page)[0] == [
        ["ms", "p50", "p95", "p99", "mean", "of"],
        ["---", "---:", "---:", "---:", "---:", "---:"],
        ["TTFT", "50.0 (49.0 to 51.0)", "150", "200", "50.0", "1,000"],
        ["E2E", "150 (149 to 151)", "450", "600", "150", "1,000"],
    ]
    assert page.endswith("The client kept up: it kept up.\n")


def test_notes_come_before_the_figures(make_result: Make) -> None:
    page = run_summary(make_result(notes=["the clock was set"], was_stopped=True))
    assert "> The run was stopped before its end.\n> the clock was set\n" in page
    assert page.index("the clock was set") < page.index("| ms |")


def test_every_row_has_its_heads_cells_whatever_a_server_said(make_result: Make) -> None:
    example = 'a | b\n| c | `code` <img src=x> @someone [x](http://x) "'
    errors = {"http 500": ErrorKind(count=1, example=example)}
    (table,) = [
        each for each in tables(run_summary(make_result(errors=errors))) if "error" in each[0]
    ]
    assert all(len(row) == 4 for row in table)
    shown = "`a \\| b \\| c \\| 'code' <img src=x> @someone [x](http://x) \"`"
    assert table[2][3] == shown


def test_no_note_is_read_as_markup(make_result: Make) -> None:
    page = run_summary(make_result(notes=["<img src=x> ![a](b) | `c`"]))
    assert "> \\<img src=x> !\\[a\\](b) \\| \\`c\\`" in page


def test_what_is_no_text_can_still_be_written(make_result: Make) -> None:
    errors = {"http 500": ErrorKind(count=1, example="\ud83d")}
    assert "`?`" in run_summary(make_result(errors=errors)).encode("utf-8").decode()


@pytest.fixture
def comparison(make_result: Make) -> Comparison:
    return Comparison(
        a="always-large",
        b="auto",
        rounds=6,
        pairs=1200,
        metrics=[
            MetricDifference(
                name="ttft.p95",
                a=100.0,
                b=88.0,
                difference_percent=-12.0,
                ci95_percent=(-15.0, -9.0),
                verdict="B is 12% ± 3% faster at p95 TTFT",
            ),
            MetricDifference(
                name="cost.mean",
                a=0.002,
                b=0.001,
                difference_percent=-50.0,
                ci95_percent=None,
                verdict="too few pairs to tell",
            ),
            MetricDifference(
                name="goodput",
                a=0.99,
                b=1.0,
                difference_percent=1.0,
                ci95_percent=(0.5, 1.5),
                verdict="B's goodput is 1.0% ± 0.5% higher",
            ),
        ],
        a_result=make_result(),
        b_result=make_result(),
        share_by_model={"small": (0.0, 0.75), "large": (1.0, 0.25)},
        notes=["one round was cut short"],
    )


def test_a_comparison_tells_each_difference_in_figures_and_words(comparison: Comparison) -> None:
    page = comparison_summary(comparison)
    assert (
        "A: `always-large`, B: `auto`; 6 rounds in turn, 1,200 requests answered by both." in page
    )
    assert "> one round was cut short" in page
    differences, shares = tables(page)
    minus = "\N{MINUS SIGN}"
    assert differences[2:] == [
        [
            "p95 TTFT",
            "100 ms",
            "88.0 ms",
            f"{minus}12.0%",
            f"{minus}15.0% to {minus}9.0%",
            "B is 12% ± 3% faster at p95 TTFT",
        ],
        [
            "mean cost",
            "$0.002",
            "$0.001",
            f"{minus}50.0%",
            "too few pairs",
            "too few pairs to tell",
        ],
        ["goodput", "99.0%", "100%", "1.0%", "0.5% to 1.5%", "B's goodput is 1.0% ± 0.5% higher"],
    ]
    assert shares[2:] == [["`small`", "0%", "75.0%"], ["`large`", "100%", "25.0%"]]


def test_a_sweep_says_the_highest_rate_and_lists_rates_in_order(
    make_result: Make, make_distribution: Callable[..., Distribution]
) -> None:
    points = [
        SweepPoint(
            rate=rate,
            meets_slo=rate < 10,
            because="ttft.p95<500ms",
            result=make_result(itl_ms=make_distribution(5.0)),
        )
        for rate in (16.0, 8.0)
    ]
    sweep = SweepResult(slo=["ttft.p95<500ms"], points=points, highest_rate=8.0, knee=8.0, notes=[])
    page = sweep_summary(sweep)
    assert "Up to 8 conversations per second meet ttft.p95\\<500ms; the knee is at 8/s." in page
    (rates,) = tables(page)
    assert rates[2] == [
        "8",
        "9.90",
        "109",
        "50.0 ms",
        "150 ms",
        "15.0 ms",
        "450 ms",
        "yes",
        "ttft.p95\\<500ms",
    ]
    assert [row[0] for row in rates[2:]] == ["8", "16"]


def test_a_sweep_that_found_no_rate_says_so() -> None:
    sweep = SweepResult(slo=["ttft.p95<1ms"], points=[], highest_rate=None, knee=None, notes=[])
    assert "No rate that was tried meets ttft.p95\\<1ms." in sweep_summary(sweep)
