"""Batches in the database, and the lease that keeps two gateways from working on one.

Whoever changes a batch says in which state and under whose lease it thinks it is: a change that
comes too late changes nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from turnout.batches.batch import CANCELLABLE, LIVE, Batch, Status
from turnout.store.engine import writing
from turnout.store.tables import batches

MOST_LOOKED_AT = 1000


async def insert_batch(store: AsyncEngine, batch: Batch) -> None:
    """Adds a batch."""
    async with writing(store) as connection:
        await connection.execute(insert(batches).values(asdict(batch)))


async def batch_of(store: AsyncEngine, batch_id: str, team: str | None = None) -> Batch | None:
    """Returns a batch (of a team), or None."""
    query = select(batches).where(batches.c.id == batch_id)
    if team is not None:
        query = query.where(batches.c.team == team)
    async with store.connect() as connection:
        row = (await connection.execute(query)).mappings().first()
    return None if row is None else Batch(**row)


async def list_batches(
    store: AsyncEngine, team: str, limit: int, after: str | None = None
) -> list[Batch]:
    """Returns a team's batches, newest first, from the one after `after` on."""
    columns = (batches.c.created_at_s, batches.c.id)
    query = select(batches).where(batches.c.team == team)
    if after is not None:
        last = await batch_of(store, after, team)
        if last is None:
            return []
        query = query.where(tuple_(*columns) < tuple_(last.created_at_s, last.id))
    newest_first = query.order_by(*(column.desc() for column in columns))
    async with store.connect() as connection:
        rows = await connection.execute(newest_first.limit(limit))
        return [Batch(**row) for row in rows.mappings()]


async def count_live(store: AsyncEngine, team: str) -> int:
    """Returns how many batches of a team are not over."""
    query = select(func.count()).where(batches.c.team == team, batches.c.status.in_(LIVE))
    async with store.connect() as connection:
        return (await connection.execute(query)).scalar_one()


async def cancel(store: AsyncEngine, batch_id: str, now_s: float) -> None:
    """Has a batch cancelled that can still be."""
    change = update(batches).where(batches.c.id == batch_id, batches.c.status.in_(CANCELLABLE))
    async with writing(store) as connection:
        await connection.execute(change.values(status="cancelling", cancelling_at_s=now_s))


async def claim(
    store: AsyncEngine, worker: str, now_s: float, until_s: float, most_of_a_team: int
) -> Batch | None:
    """Takes the oldest batch that nobody works on, by a lease; None where there is none.

    A team of which `most_of_a_team` are worked on already leaves room for others.
    """
    lease = (batches.c.id, batches.c.team, batches.c.lease_until_s)
    live = select(*lease).where(batches.c.status.in_(LIVE)).order_by(batches.c.created_at_s)
    async with store.connect() as connection:
        rows = (await connection.execute(live.limit(MOST_LOOKED_AT))).all()
    worked_on = Counter(row.team for row in rows if row.lease_until_s > now_s)
    for row in rows:
        if row.lease_until_s > now_s or worked_on[row.team] >= most_of_a_team:
            continue
        taken = (
            update(batches)
            .where(batches.c.id == row.id, batches.c.lease_until_s <= now_s)
            .where(batches.c.status.in_(LIVE))
            .values(worker=worker, lease_until_s=until_s)
            .returning(*batches.c)
        )
        async with writing(store) as connection:
            found = (await connection.execute(taken)).mappings().first()
        if found is not None:
            return Batch(**found)
    return None


async def renew(
    store: AsyncEngine, batch: Batch, until_s: float, counts: tuple[int, int]
) -> Batch | None:
    """Keeps a batch longer and tells how far it is; None where another has it now."""
    completed, failed = counts
    kept = (
        _held(batch)
        .values(lease_until_s=until_s, completed=completed, failed=failed)
        .returning(*batches.c)
    )
    async with writing(store) as connection:
        row = (await connection.execute(kept)).mappings().first()
    return None if row is None else Batch(**row)


async def move(
    connection: AsyncConnection, batch: Batch, status: Status, now_s: float, **values: Any
) -> bool:
    """Brings a batch to its next state; False where it is not as `batch` says any more."""
    moved = _held(batch).where(batches.c.status == batch.status)
    new = {"status": status, f"{status}_at_s": now_s, **values}
    return (await connection.execute(moved.values(new))).rowcount == 1


async def release(store: AsyncEngine, batch: Batch) -> None:
    """Lets another gateway take a batch at once."""
    async with writing(store) as connection:
        await connection.execute(_held(batch).values(lease_until_s=0.0))


async def live_batches(store: AsyncEngine, ids: Sequence[str]) -> set[str]:
    """Returns those of `ids` that are not over."""
    query = select(batches.c.id).where(batches.c.id.in_(ids), batches.c.status.in_(LIVE))
    async with store.connect() as connection:
        return set((await connection.execute(query)).scalars())


def _held(batch: Batch) -> Any:
    return update(batches).where(batches.c.id == batch.id, batches.c.worker == batch.worker)
