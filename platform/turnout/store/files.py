"""Files in the database: whose they are, and until when; their contents lie elsewhere."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from sqlalchemy import delete, func, insert, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from turnout.batches.batch import LIVE
from turnout.batches.file import File
from turnout.store.engine import writing
from turnout.store.tables import batches, files

MOST_SWEPT = 1000


@dataclass(frozen=True)
class Page:
    """What part of a team's files is asked for."""

    limit: int
    after: str | None = None
    """The id of the last one of the page before."""
    order: Literal["asc", "desc"] = "desc"
    purpose: str | None = None


async def insert_file(connection: AsyncConnection, file: File) -> None:
    """Adds a file."""
    await connection.execute(insert(files).values(asdict(file)))


async def file_of(store: AsyncEngine, team: str, file_id: str) -> File | None:
    """Returns a team's file, or None."""
    query = select(files).where(files.c.id == file_id, files.c.team == team)
    async with store.connect() as connection:
        row = (await connection.execute(query)).mappings().first()
    return None if row is None else File(**row)


async def list_files(store: AsyncEngine, team: str, page: Page) -> list[File]:
    """Returns a page of a team's files; none where the page before is unknown."""
    columns = (files.c.created_at_s, files.c.id)
    query = select(files).where(files.c.team == team)
    if page.purpose is not None:
        query = query.where(files.c.purpose == page.purpose)
    if page.after is not None:
        last = await file_of(store, team, page.after)
        if last is None:
            return []
        place, seen = tuple_(*columns), tuple_(last.created_at_s, last.id)
        query = query.where(place < seen if page.order == "desc" else place > seen)
    order = [column.desc() if page.order == "desc" else column.asc() for column in columns]
    async with store.connect() as connection:
        rows = await connection.execute(query.order_by(*order).limit(page.limit))
        return [File(**row) for row in rows.mappings()]


async def team_bytes(store: AsyncEngine, team: str) -> int:
    """Returns how much a team keeps."""
    query = select(func.coalesce(func.sum(files.c.bytes), 0)).where(files.c.team == team)
    async with store.connect() as connection:
        return int((await connection.execute(query)).scalar_one())


async def batch_using(store: AsyncEngine, file_id: str) -> str | None:
    """Returns a batch that still reads a file, or None."""
    query = select(batches.c.id).where(
        batches.c.input_file_id == file_id, batches.c.status.in_(LIVE)
    )
    async with store.connect() as connection:
        return (await connection.execute(query.limit(1))).scalar_one_or_none()


async def delete_file(store: AsyncEngine, file_id: str) -> None:
    """Deletes a file."""
    async with writing(store) as connection:
        await connection.execute(delete(files).where(files.c.id == file_id))


async def delete_expired(store: AsyncEngine, now_s: float) -> list[str]:
    """Deletes files whose time has come and that no batch reads; returns their ids."""
    read = select(batches.c.input_file_id).where(batches.c.status.in_(LIVE))
    due = (
        select(files.c.id)
        .where(files.c.expires_at_s <= now_s, files.c.id.not_in(read))
        .limit(MOST_SWEPT)
    )
    async with writing(store) as connection:
        ids = list((await connection.execute(due)).scalars())
        await connection.execute(delete(files).where(files.c.id.in_(ids)))
    return ids


async def known_files(store: AsyncEngine, ids: Sequence[str]) -> set[str]:
    """Returns those of `ids` that are files."""
    async with store.connect() as connection:
        return set(
            (await connection.execute(select(files.c.id).where(files.c.id.in_(ids)))).scalars()
        )
