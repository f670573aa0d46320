"""What pools had ready, by the hour, and what it cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.engine import is_postgresql, writing
from turnout.store.tables import capacity
from turnout.usage.cost import Capacity, CapacityInHour, Pool

_KEY = ("hour_s", "model", "market")
_SUMS = ("replica_s", "busy_s", "cost_usd")


async def add_capacity(store: AsyncEngine, rows: Sequence[CapacityInHour]) -> None:
    """Adds to the sums of these hours and pools, in one transaction."""
    if not rows:
        return
    values = [
        {
            "hour_s": row.hour_s,
            "model": row.pool.model,
            "market": row.pool.market,
            "replica_s": row.capacity.replica_s,
            "busy_s": row.capacity.busy_s,
            "cost_usd": row.capacity.cost_usd,
        }
        for row in rows
    ]
    async with writing(store) as connection:
        dialect = postgresql if is_postgresql(connection) else sqlite
        insert = dialect.insert(capacity)
        sums = {name: _plus(capacity.c[name], insert.excluded[name]) for name in _SUMS}
        await connection.execute(
            insert.on_conflict_do_update(index_elements=_KEY, set_=sums), values
        )


def _plus(old: ColumnElement[Any], more: ColumnElement[Any]) -> ColumnElement[Any]:
    """Null is nothing, but two of them are null."""
    return case((old.is_(None), more), else_=old + func.coalesce(more, 0.0))


async def capacity_in(
    store: AsyncEngine, hours_s: tuple[int, int], bucket_s: int | None
) -> Mapping[tuple[int | None, Pool], Capacity]:
    """Returns what pools had in whole hours, by bucket (its start; None is the whole range)."""
    hour = capacity.c.hour_s
    bucket = [] if bucket_s is None else [(hour - hour % bucket_s).label("bucket")]
    pool = [capacity.c.model, capacity.c.market]
    sums = select(
        *bucket,
        *pool,
        func.sum(capacity.c.replica_s).label("replica_s"),
        func.sum(capacity.c.busy_s).label("busy_s"),
        func.sum(capacity.c.cost_usd).label("cost_usd"),
    )
    in_range = sums.where(hour >= hours_s[0], hour < hours_s[1]).group_by(*bucket, *pool)
    async with store.connect() as connection:
        rows = (await connection.execute(in_range)).mappings().all()
    return {
        (row.get("bucket"), Pool(row["model"], row["market"])): Capacity(
            row["replica_s"], row["busy_s"], row["cost_usd"]
        )
        for row in rows
    }
