"""Reports by hand: who pays how much of what the pools cost."""

from __future__ import annotations

import pytest

from turnout.usage.cost import Capacity, Pool, Tokens
from turnout.usage.question import Question
from turnout.usage.report import Sums, as_json, as_rows, report_of

SPOT, LARGE = Pool("small", "spot"), Pool("large", "reserved")
DAY = Question(0, 86400, ("team",))


def sums(team: str, pool: Pool, prompt: int, completion: int, **more: object) -> Sums:
    plain = {"bucket_s": None, "requests": 1, "cached_tokens": 2, "list_cost_usd": 0.5}
    tokens = Tokens(prompt, completion)
    return Sums(group=(team,), pool=pool, tokens=tokens, **{**plain, **more})  # type: ignore[arg-type]


def test_a_pools_whole_cost_is_shared_by_tokens_idle_time_included() -> None:
    """The small pool cost 9 dollars for 900 tokens, the large one 8 for 200: 1 and 4 cents each."""
    report = report_of(
        DAY,
        [
            sums("ads", SPOT, 200, 100),
            sums("ads", LARGE, 50, 50, requests=3),
            sums("search", SPOT, 500, 100),
            sums("search", LARGE, 90, 10),
        ],
        {(None, SPOT): Capacity(3600, 36, 9.0), (None, LARGE): Capacity(3600, 36, 8.0)},
        {(None, SPOT): Tokens(700, 200), (None, LARGE): Tokens(140, 60)},
    )
    assert as_rows(report) == [
        {
            "team": "ads",
            "requests": 4,
            "prompt_tokens": 250,
            "cached_tokens": 4,
            "completion_tokens": 150,
            "list_cost_usd": 1.0,
            "true_cost_usd": pytest.approx(3.0 + 4.0),
        },
        {
            "team": "search",
            "requests": 2,
            "prompt_tokens": 590,
            "cached_tokens": 4,
            "completion_tokens": 110,
            "list_cost_usd": 1.0,
            "true_cost_usd": pytest.approx(6.0 + 4.0),
        },
    ]
    assert report.total.true_cost_usd == pytest.approx(17.0)
    assert report.total.completion_tokens == 260


def test_buckets_have_prices_of_their_own() -> None:
    """A cent a token in the busy first hour, ten in the idle second."""
    report = report_of(
        Question(0, 7200, ("team",), "hour"),
        [sums("ads", SPOT, 100, 0, bucket_s=0), sums("ads", SPOT, 10, 0, bucket_s=3600)],
        {(0, SPOT): Capacity(3600, 3600, 1.0), (3600, SPOT): Capacity(3600, 360, 1.0)},
        {(0, SPOT): Tokens(100, 0), (3600, SPOT): Tokens(10, 0)},
    )
    told = as_json(report, with_pools=True)
    assert [row["start"] for row in told["data"]] == [
        "1970-01-01T00:00:00Z",
        "1970-01-01T01:00:00Z",
    ]
    assert [row["true_cost_usd"] for row in told["data"]] == [pytest.approx(1), pytest.approx(1)]
    assert [pool["idle_share"] for pool in told["pools"]] == [0, pytest.approx(0.9)]
    assert told["total"]["prompt_tokens"] == 110


def test_tokens_of_a_pool_whose_capacity_nobody_recorded_have_no_true_cost() -> None:
    report = report_of(
        DAY,
        [sums("a", SPOT, 1, 1), sums("b", LARGE, 1, 1)],
        {(None, LARGE): Capacity(1, 1, 2.0)},
        {(None, SPOT): Tokens(1, 1), (None, LARGE): Tokens(1, 1)},
    )
    assert [line.true_cost_usd for line in report.lines] == [None, pytest.approx(2.0)]
    assert report.total.true_cost_usd is None
    assert report.total.list_cost_usd == 1.0


def test_a_refused_request_without_tokens_costs_nothing_truly() -> None:
    report = report_of(DAY, [sums("a", Pool("small", "none"), 0, 0)], {}, {})
    assert report.total.true_cost_usd == 0


def test_an_upstream_costs_what_its_provider_charges() -> None:
    report = report_of(DAY, [sums("a", Pool("big", "upstream"), 5, 5)], {}, {})
    assert report.total.true_cost_usd == 0.5


def test_pools_are_told_to_operators_only() -> None:
    report = report_of(
        DAY,
        [],
        {(None, SPOT): Capacity(7200, 3600, 3.0)},
        {(None, SPOT): Tokens(4_000_000, 2_000_000)},
    )
    assert "pools" not in as_json(report)
    assert as_json(report, with_pools=True)["pools"] == [
        {
            "model": "small",
            "market": "spot",
            "replica_hours": 2.0,
            "idle_share": 0.5,
            "cost_usd": 3.0,
            "prompt_tokens": 4_000_000,
            "completion_tokens": 2_000_000,
            "true_usd_per_million_output_tokens": pytest.approx(1.5),
            "true_usd_per_million_tokens": pytest.approx(0.5),
        }
    ]
