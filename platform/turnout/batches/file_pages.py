"""`/v1/files`: a team's files."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from typing import Literal, cast

from turnout.access.caller import Caller
from turnout.batches.errors import FileInUse, NoSuchFile, StorageFull
from turnout.batches.file import File, as_json
from turnout.batches.lines import blocks_of
from turnout.batches.means import Means
from turnout.batches.query import limit_of, params_of
from turnout.batches.upload import Form, receive
from turnout.gateway.errors import InvalidField
from turnout.gateway.exchange import Exchange
from turnout.store.engine import writing
from turnout.store.files import (
    Page,
    batch_using,
    delete_file,
    file_of,
    insert_file,
    list_files,
    team_bytes,
)

MOST_LISTED = 10_000
SHORTEST_KEPT_S = 3600
_FIELDS = ("purpose", "expires_after[anchor]", "expires_after[seconds]")


class FilePages:
    """Answers what is asked of files; a team sees its own only."""

    def __init__(self, means: Means) -> None:
        self._means = means

    async def upload(self, exchange: Exchange, caller: Caller, _item: str) -> None:
        """Takes a file; raises `BadUpload`, `BodyTooLarge`, `StorageFull` or `InvalidField`."""
        limits, now_s = self._means.batches, time.time()
        if await team_bytes(self._means.store, caller.team) >= limits.max_team_bytes:
            raise StorageFull(limits.max_team_bytes)
        file_id = f"file-{secrets.token_hex(12)}"
        path = self._means.folder.upload(file_id)
        try:
            content_type = exchange.headers.get(b"content-type", b"")
            form = await receive(content_type, exchange.pieces(), path, limits.max_file_bytes)
            file = _file(file_id, caller, form, now_s, limits.keep_files_s)
            await asyncio.to_thread(self._means.folder.put, path, file_id)
        finally:
            path.unlink(missing_ok=True)
        async with writing(self._means.store) as connection:
            await insert_file(connection, file)
        await exchange.answer(json.dumps(as_json(file)).encode())

    async def list(self, exchange: Exchange, caller: Caller, _item: str) -> None:
        """Lists files, newest first unless asked otherwise; raises `InvalidField`."""
        params = params_of(exchange.query, ("limit", "after", "order", "purpose"))
        limit, order = limit_of(params, MOST_LISTED, MOST_LISTED), params.get("order", "desc")
        if order not in ("asc", "desc"):
            raise InvalidField("order", "must be 'asc' or 'desc'")
        direction = cast(Literal["asc", "desc"], order)
        page = Page(limit + 1, params.get("after"), direction, params.get("purpose"))
        found = await list_files(self._means.store, caller.team, page)
        data = [as_json(file) for file in found[:limit]]
        await exchange.answer(json.dumps(listing(data, has_more=len(found) > limit)).encode())

    async def show(self, exchange: Exchange, caller: Caller, item: str) -> None:
        """Answers with a file's data; raises `NoSuchFile`."""
        file = await self._file(caller, item)
        await exchange.answer(json.dumps(as_json(file)).encode())

    async def content(self, exchange: Exchange, caller: Caller, item: str) -> None:
        """Sends a file's contents; raises `NoSuchFile`."""
        file = await self._file(caller, item)
        path = self._means.folder.contents(file.id)
        await exchange.while_client_stays(_send(exchange, file, blocks_of(path)))

    async def delete(self, exchange: Exchange, caller: Caller, item: str) -> None:
        """Deletes a file; raises `NoSuchFile` or `FileInUse`."""
        file = await self._file(caller, item)
        batch_id = await batch_using(self._means.store, file.id)
        if batch_id is not None:
            raise FileInUse(file.id, batch_id)
        await delete_file(self._means.store, file.id)
        await asyncio.to_thread(self._means.folder.remove, file.id)
        said = {"id": file.id, "object": "file", "deleted": True}
        await exchange.answer(json.dumps(said).encode())

    async def _file(self, caller: Caller, file_id: str) -> File:
        file = await file_of(self._means.store, caller.team, file_id)
        if file is None or file.expires_at_s <= time.time():
            raise NoSuchFile(file_id)
        return file


def listing(data: list[dict[str, object]], *, has_more: bool) -> dict[str, object]:
    """Returns a page of a list in OpenAI's shape."""
    ids = [each["id"] for each in data] or [None]
    ends = {"first_id": ids[0], "last_id": ids[-1]}
    return {"object": "list", "data": data, **ends, "has_more": has_more}


async def _send(exchange: Exchange, file: File, blocks: AsyncIterator[bytes]) -> None:
    name = file.filename.encode("ascii", "replace").decode().replace('"', "'")
    more = {
        "content-length": str(file.bytes),
        "content-disposition": f'attachment; filename="{name}"',
    }
    await exchange.begin(200, "application/octet-stream", more)
    async for block in blocks:
        await exchange.write(block)
    await exchange.end()


def _file(file_id: str, caller: Caller, form: Form, now_s: float, most_s: float) -> File:
    for name in form.fields:
        if name not in _FIELDS:
            raise InvalidField(name[:64], f"unknown field: use file, {', '.join(_FIELDS)}")
    if form.fields.get("purpose") != "batch":
        raise InvalidField("purpose", "must be 'batch'")
    return File(
        id=file_id,
        team=caller.team,
        key_id=caller.key_id,
        purpose="batch",
        filename=form.filename or "file",
        bytes=form.bytes,
        created_at_s=now_s,
        expires_at_s=now_s + _kept_s(form, most_s),
    )


def _kept_s(form: Form, most_s: float) -> float:
    """Returns for how long a file is kept: as asked, but no longer than the settings say."""
    if form.fields.get("expires_after[anchor]", "created_at") != "created_at":
        raise InvalidField("expires_after.anchor", "must be 'created_at'")
    text = form.fields.get("expires_after[seconds]")
    if text is None:
        return most_s
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= SHORTEST_KEPT_S):
        problem = f"must be a whole number from {SHORTEST_KEPT_S} on"
        raise InvalidField("expires_after.seconds", problem)
    return min(float(text), most_s)
