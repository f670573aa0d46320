"""Old usage, deleted a few thousand rows at a time: nobody who writes waits long for it."""

import asyncio
import logging
import time
from typing import NoReturn

from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.engine import writing
from turnout.store.tables import capacity, usage

log = logging.getLogger(__name__)
AT_ONCE = 5_000
PERIOD_S = 3600.0
DAY_S, HOUR_S = 86_400, 3_600


async def keep_usage(store: AsyncEngine, days: int, period_s: float = PERIOD_S) -> NoReturn:
    """Deletes for ever what is older than so many days; a store that is away is tried again."""
    while True:
        try:
            deleted = await delete_usage_before(store, time.time() - days * DAY_S)
        except (SQLAlchemyError, OSError) as error:
            log.warning("old_usage_not_deleted", extra={"error": type(error).__name__})
        else:
            log.info("old_usage_deleted", extra={"records": deleted})
        await asyncio.sleep(period_s)


async def delete_usage_before(store: AsyncEngine, at_s: float, at_once: int = AT_ONCE) -> int:
    """Deletes records and whole hours of pools from before a moment; returns how many records.

    Raises the store's errors; what was deleted until then stays so.
    """
    old = select(usage.c.id).where(usage.c.at_s < at_s).order_by(usage.c.at_s).limit(at_once)
    deleted = 0
    while True:
        async with writing(store) as connection:
            done = await connection.execute(delete(usage).where(usage.c.id.in_(old)))
        deleted += done.rowcount
        if done.rowcount < at_once:
            break
    async with writing(store) as connection:
        await connection.execute(delete(capacity).where(capacity.c.hour_s <= at_s - HOUR_S))
    return deleted
