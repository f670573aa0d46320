"""Usage records in the database: written once each, summed up, listed."""

import operator
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any

import msgspec
from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Select,
    Text,
    bindparam,
    cast,
    column,
    func,
    select,
    tuple_,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.engine import is_postgresql, writing
from turnout.store.tables import usage
from turnout.usage.cost import Pool, Tokens
from turnout.usage.question import BUCKET_S, BadQuestion, Bucket, Dimension, Question
from turnout.usage.record import UsageRecord
from turnout.usage.report import Sums
from turnout.usage.writer import RecordsRefused

MAX_LINES = 100_000
PAGE_RECORDS = 1000
_COLUMN: Mapping[Dimension, str] = {
    "team": "team",
    "key": "key_id",
    "model": "model",
    "market": "market",
    "endpoint": "endpoint",
}


async def insert_usage(store: AsyncEngine, records: Sequence[UsageRecord]) -> int:
    """Writes records, those already there left as they are; returns how many were new.

    To PostgreSQL all of them travel as one JSON text that it takes apart: a hundredth of the
    gateway's time that a statement with seventeen parameters for each record takes. SQLite's driver
    takes them as they are. Raises `RecordsRefused`.
    """
    try:
        async with writing(store) as connection:
            if is_postgresql(connection):
                values = {"records": msgspec.json.encode(records).decode()}
                done = await connection.execute(_insert_from_json(), values)
            else:
                rows = [_row(record) for record in records]
                done = await connection.exec_driver_sql(_INSERT, rows)
            return done.rowcount
    except (OverflowError, UnicodeEncodeError) as error:  # SQLite's driver does not wrap these
        raise RecordsRefused(type(error).__name__) from None
    except DBAPIError as error:
        if (code := _data_fault(error)) is None:
            raise
        raise RecordsRefused(code) from None


def _data_fault(error: DBAPIError) -> str | None:
    """Returns PostgreSQL's code or SQLite's class where the data is at fault, else None.

    SQLSTATE's classes 22 and 23 are data exceptions and broken constraints; SQLAlchemy gives most
    of them no class of their own.
    """
    if isinstance(error, IntegrityError):
        return type(error).__name__
    code = str(getattr(error.orig, "sqlstate", None))
    return code if code.startswith(("22", "23")) else None


_NAMES = [each.name for each in usage.c]
_row = operator.attrgetter(*_NAMES)
_INSERT = (
    f"INSERT INTO usage ({', '.join(_NAMES)}) VALUES ({', '.join('?' * len(_NAMES))}) "
    "ON CONFLICT (id) DO NOTHING"
)


@cache
def _insert_from_json() -> postgresql.Insert:
    typed = func.json_to_recordset(cast(bindparam("records", type_=Text), JSON)).table_valued(
        *(column(each.name, each.type) for each in usage.c)
    )
    each = typed.render_derived("record", with_types=True)
    return (
        postgresql.insert(usage)
        .from_select(_NAMES, select(*(each.c[name] for name in _NAMES)))
        .on_conflict_do_nothing(index_elements=["id"])
    )


async def usage_sums(store: AsyncEngine, question: Question) -> list[Sums]:
    """Sums up by bucket, by what was asked for, and by pool; raises `BadQuestion` for too much."""
    bucket = _bucket(question.bucket, store)
    by = [usage.c[_COLUMN[name]].label(f"by_{name}") for name in question.by]
    keys = [*bucket, *by, usage.c.model, usage.c.market]
    sums = _in_range(
        select(
            *keys,
            func.count().label("requests"),
            *(_sum(name) for name in ("prompt_tokens", "cached_tokens", "completion_tokens")),
            func.sum(usage.c.list_cost_usd).label("list_cost_usd"),
        ),
        question,
    )
    ordered = sums.group_by(*keys).order_by(*keys).limit(MAX_LINES + 1)
    async with store.connect() as connection:
        rows = (await connection.execute(ordered)).mappings().all()
    if len(rows) > MAX_LINES:
        raise BadQuestion("group_by", f"the answer has more than {MAX_LINES} lines: ask for less")
    return [_sums(row, question) for row in rows]


def _sums(row: Mapping[str, Any], question: Question) -> Sums:
    return Sums(
        bucket_s=row.get("bucket"),
        group=tuple(row[f"by_{name}"] for name in question.by),
        pool=Pool(row["model"], row["market"]),
        requests=row["requests"],
        tokens=Tokens(int(row["prompt_tokens"]), int(row["completion_tokens"])),
        cached_tokens=int(row["cached_tokens"]),
        list_cost_usd=row["list_cost_usd"],
    )


async def tokens_in(
    store: AsyncEngine, hours_s: tuple[int, int], bucket: Bucket | None
) -> Mapping[tuple[int | None, Pool], Tokens]:
    """Returns all teams' tokens by pool and by bucket (its start; None is the whole range)."""
    by = _bucket(bucket, store)
    keys = [*by, usage.c.model, usage.c.market]
    sums = _in_range(
        select(*keys, _sum("prompt_tokens"), _sum("completion_tokens")), Question(*hours_s)
    )
    async with store.connect() as connection:
        rows = (await connection.execute(sums.group_by(*keys))).mappings().all()
    return {
        (row.get("bucket"), Pool(row["model"], row["market"])): Tokens(
            int(row["prompt_tokens"]), int(row["completion_tokens"])
        )
        for row in rows
    }


async def records_in(store: AsyncEngine, question: Question) -> AsyncIterator[UsageRecord]:
    """Yields records, oldest first, a page at a time: no transaction waits for a slow reader."""
    place = tuple_(usage.c.at_s, usage.c.id)
    page = _in_range(select(usage), question).order_by(usage.c.at_s, usage.c.id)
    after: tuple[float, str] | None = None
    while True:
        next_page = page if after is None else page.where(place > tuple_(*after))
        async with store.connect() as connection:
            rows = (await connection.execute(next_page.limit(PAGE_RECORDS))).mappings().all()
        for row in rows:
            yield UsageRecord(**row)
        if len(rows) < PAGE_RECORDS:
            return
        after = (rows[-1]["at_s"], rows[-1]["id"])


async def spent_usd(
    store: AsyncEngine, *, since_s: float, team: str | None = None, key_id: str | None = None
) -> float:
    """Returns what a team or a key was charged since a moment, at list prices."""
    spent = _in_range(
        select(func.coalesce(func.sum(usage.c.list_cost_usd), 0.0)),
        Question(since_s, float("inf"), team=team, key=key_id),
    )
    async with store.connect() as connection:
        return float((await connection.execute(spent)).scalar_one())


def _in_range(query: Select[Any], question: Question) -> Select[Any]:
    query = query.where(usage.c.at_s >= question.from_s)
    if isfinite(question.to_s):
        query = query.where(usage.c.at_s < question.to_s)
    if question.team is not None:
        query = query.where(usage.c.team == question.team)
    if question.key is not None:
        query = query.where(usage.c.key_id == question.key)
    return query


def _sum(column: str) -> ColumnElement[Any]:
    return func.sum(usage.c[column]).label(column)


def _bucket(bucket: Bucket | None, store: AsyncEngine) -> list[ColumnElement[Any]]:
    if bucket is None:
        return []
    width = BUCKET_S[bucket]
    # A cast cuts in SQLite and rounds in PostgreSQL; SQLite need not have floor().
    whole = usage.c.at_s if store.dialect.name == "sqlite" else func.floor(usage.c.at_s)
    seconds = cast(whole, BigInteger)
    return [(seconds - seconds % width).label("bucket")]
