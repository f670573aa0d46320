"""Usage records in both databases: written once, summed up, listed."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.usage import insert_usage, records_in, spent_usd, tokens_in, usage_sums
from turnout.usage.cost import Pool, Tokens
from turnout.usage.question import BadQuestion, Question
from turnout.usage.record import UsageRecord
from turnout.usage.writer import RecordsRefused

EVER = Question(0, 1e10)
HOUR = 1_700_002_800  # 2023-11-14 23:00 UTC, the last hour of its day
SPOT, RESERVED = Pool("small", "spot"), Pool("small", "reserved")


def record(record_id: str, **changes: object) -> UsageRecord:
    plain = {
        "id": record_id,
        "at_s": HOUR + 0.5,
        "team": "search",
        "key_id": "k1",
        "endpoint": "chat",
        "model": "small",
        "market": "spot",
        "status": 200,
        "prompt_tokens": 10,
        "completion_tokens": 1,
    }
    return UsageRecord(**{**plain, **changes})  # type: ignore[arg-type]


async def all_of(store: AsyncEngine, question: Question = EVER) -> list[UsageRecord]:
    return [each async for each in records_in(store, question)]


async def test_a_record_comes_back_as_it_was(store: AsyncEngine) -> None:
    whole = record(
        "a",
        at_s=1_700_000_000.123456,
        team='weird "team" \\ 世界',
        status=499,
        prompt_tokens=2**53 - 1,
        cached_tokens=5,
        completion_tokens=7,
        queue_s=0.1,
        ttft_s=0.012345678901234567,
        itl_s=1e-9,
        e2e_s=12.5,
        list_cost_usd=3.3e-7,
        attempts=3,
    )
    bare = record("b", ttft_s=None, itl_s=None)
    assert await insert_usage(store, [whole, bare]) == 2
    assert await all_of(store) == [whole, bare]


async def test_a_record_written_again_counts_once_and_stays_as_it_was(store: AsyncEngine) -> None:
    assert await insert_usage(store, [record("a"), record("b")]) == 2
    changed = record("b", completion_tokens=999)
    assert await insert_usage(store, [record("a"), changed, record("c")]) == 1
    kept = await all_of(store)
    assert sorted(each.id for each in kept) == ["a", "b", "c"]
    assert sum(each.completion_tokens for each in kept) == 3


async def test_a_record_that_is_twice_in_one_batch_counts_once(store: AsyncEngine) -> None:
    assert await insert_usage(store, [record("a"), record("a")]) == 1


@pytest.mark.parametrize("database", ["postgresql"])  # SQLite takes any text
@pytest.mark.parametrize("team", ["t" * 129, "a\0b"], ids=["too long", "zero byte"])
async def test_a_record_that_no_column_takes_refuses_the_batch_and_keeps_nothing(
    store: AsyncEngine, team: str
) -> None:
    """A retry for ever would hold up every record behind it."""
    with pytest.raises(RecordsRefused):
        await insert_usage(store, [record("a"), record("bad", team=team)])
    assert await all_of(store) == []


@pytest.mark.parametrize(
    "odd", [{"prompt_tokens": 2**70}, {"e2e_s": float("nan")}, {"team": "\ud800"}], ids=str
)
async def test_a_value_that_no_database_takes_refuses_the_batch_and_keeps_nothing(
    store: AsyncEngine, odd: dict[str, Any]
) -> None:
    with pytest.raises(RecordsRefused):
        await insert_usage(store, [record("a"), record("bad", **odd)])
    assert await all_of(store) == []


async def test_a_database_without_its_tables_is_not_the_records_fault(store: AsyncEngine) -> None:
    async with store.begin() as connection:
        await connection.execute(text("ALTER TABLE usage RENAME TO moved"))
    try:
        with pytest.raises(Exception, match="usage") as caught:
            await insert_usage(store, [record("a")])
        assert not isinstance(caught.value, RecordsRefused)
    finally:
        async with store.begin() as connection:
            await connection.execute(text("ALTER TABLE moved RENAME TO usage"))


async def test_sums_are_by_group_and_pool(store: AsyncEngine) -> None:
    await insert_usage(
        store,
        [
            record("a", cached_tokens=4, list_cost_usd=0.25),
            record("b", prompt_tokens=5, completion_tokens=5, list_cost_usd=0.5),
            record("c", market="reserved"),
            record("d", team="ads", key_id="k2", endpoint="completions"),
        ],
    )
    sums = await usage_sums(store, Question(0, 1e10, ("team", "key", "endpoint")))
    assert [(each.group, each.pool, each.requests, each.tokens) for each in sums] == [
        (("ads", "k2", "completions"), SPOT, 1, Tokens(10, 1)),
        (("search", "k1", "chat"), RESERVED, 1, Tokens(10, 1)),
        (("search", "k1", "chat"), SPOT, 2, Tokens(15, 6)),
    ]
    assert sums[2].cached_tokens == 4
    assert sums[2].list_cost_usd == 0.75


async def test_a_range_includes_its_begin_and_not_its_end(store: AsyncEngine) -> None:
    await insert_usage(store, [record(f"r{at}", at_s=float(at)) for at in range(10, 15)])
    assert [each.at_s for each in await all_of(store, Question(11, 13))] == [11, 12]
    [sums] = await usage_sums(store, Question(11, 13))
    assert sums.requests == 2


@pytest.mark.parametrize("offset_s", [0, 0.4, 0.6, 3599.4, 3599.6, 3599.999])
async def test_every_moment_of_an_hour_falls_into_that_hour(
    store: AsyncEngine, offset_s: float
) -> None:
    """PostgreSQL rounds where SQLite cuts."""
    await insert_usage(store, [record("a", at_s=HOUR + offset_s)])
    [by_hour] = await usage_sums(store, Question(0, 1e10, (), "hour"))
    [by_day] = await usage_sums(store, Question(0, 1e10, (), "day"))
    assert (by_hour.bucket_s, by_day.bucket_s) == (HOUR, HOUR - 23 * 3600)


async def test_a_team_and_a_key_narrow_every_question(store: AsyncEngine) -> None:
    await insert_usage(
        store,
        [
            record("a", list_cost_usd=1.0),
            record("b", key_id="k2", list_cost_usd=2.0),
            record("c", team="ads", key_id="k3", list_cost_usd=4.0, at_s=HOUR - 5.0),
        ],
    )
    assert [each.id for each in await all_of(store, Question(0, 1e10, team="search"))] == ["a", "b"]
    assert [each.id for each in await all_of(store, Question(0, 1e10, key="k3"))] == ["c"]
    assert await spent_usd(store, since_s=0) == 7.0
    assert await spent_usd(store, team="search", since_s=0) == 3.0
    assert await spent_usd(store, key_id="k2", since_s=0) == 2.0
    assert await spent_usd(store, team="ads", since_s=HOUR) == 0.0


async def test_pools_tokens_are_all_teams(store: AsyncEngine) -> None:
    await insert_usage(
        store, [record("a"), record("b", team="ads"), record("c", at_s=HOUR + 3600.0)]
    )
    assert await tokens_in(store, (HOUR, HOUR + 7200), "hour") == {
        (HOUR, SPOT): Tokens(20, 2),
        (HOUR + 3600, SPOT): Tokens(10, 1),
    }
    assert await tokens_in(store, (HOUR, HOUR + 3600), None) == {(None, SPOT): Tokens(20, 2)}


async def test_records_are_listed_in_pages_that_miss_and_repeat_none(
    store: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.store.usage.PAGE_RECORDS", 3)
    # Several at the same moment: a page may end between them.
    await insert_usage(store, [record(f"r{n:02}", at_s=HOUR + float(n // 4)) for n in range(12)])
    assert [each.id for each in await all_of(store)] == [f"r{n:02}" for n in range(12)]


async def test_a_report_that_would_be_too_long_says_so(
    store: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.store.usage.MAX_LINES", 2)
    await insert_usage(store, [record(f"r{n}", key_id=f"k{n}") for n in range(3)])
    with pytest.raises(BadQuestion, match="more than 2 lines"):
        await usage_sums(store, Question(0, 1e10, ("key",)))
    assert len(await usage_sums(store, Question(0, 1e10, ("key",), key="k1"))) == 1
