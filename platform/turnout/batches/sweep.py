"""Deletes files whose time has come, and what processes that died left behind."""

import asyncio

from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.batches.folder import Folder
from turnout.store.batches import live_batches
from turnout.store.files import delete_expired, known_files

_AT_ONCE = 500


async def sweep(store: AsyncEngine, folder: Folder, now_s: float) -> None:
    """Does it once; several gateways may. Raises OSError or the store's errors."""
    for file_id in await delete_expired(store, now_s):
        await asyncio.to_thread(folder.remove, file_id)
    await asyncio.to_thread(folder.drop_old_uploads)
    for ids in _parts(await asyncio.to_thread(folder.old_files)):
        for file_id in set(ids) - await known_files(store, ids):
            await asyncio.to_thread(folder.remove, file_id)
    for ids in _parts(await asyncio.to_thread(folder.old_results)):
        for batch_id in set(ids) - await live_batches(store, ids):
            await asyncio.to_thread(folder.forget, batch_id)


def _parts(ids: list[str]) -> list[list[str]]:
    return [ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE)]
