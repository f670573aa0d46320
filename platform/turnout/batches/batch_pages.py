"""`/v1/batches`: a team's batches."""

import asyncio
import json
import secrets
import time
from collections.abc import Callable

from turnout.access.caller import Caller
from turnout.batches.api import CreateBatch
from turnout.batches.batch import WINDOW_S, Batch, as_json
from turnout.batches.errors import BatchOver, NoSuchBatch, NoSuchFile, TooManyBatches
from turnout.batches.file_pages import listing
from turnout.batches.means import Means
from turnout.batches.query import limit_of, params_of
from turnout.gateway.body import checked
from turnout.gateway.endpoints import DIALECTS
from turnout.gateway.errors import BodyTooSlow, InvalidField
from turnout.gateway.exchange import Exchange
from turnout.store.batches import batch_of, cancel, count_live, insert_batch, list_batches
from turnout.store.files import file_of

USUALLY_LISTED, MOST_LISTED = 20, 100
MOST_LIVE = 200
"""Unfinished batches of a team."""


class BatchPages:
    """Answers what is asked of batches; a team sees its own only."""

    def __init__(self, means: Means, wake: Callable[[], None]) -> None:
        """`wake` has the worker look at once."""
        self._means, self._wake = means, wake

    async def create(self, exchange: Exchange, caller: Caller, _item: str) -> None:
        """Takes a batch; raises a `RequestError`."""
        fields = checked(await self._body(exchange), CreateBatch)
        if fields["endpoint"] not in DIALECTS:
            raise InvalidField("endpoint", f"must be one of {', '.join(DIALECTS)}")
        file = await file_of(self._means.store, caller.team, fields["input_file_id"])
        if file is None or file.expires_at_s <= time.time():
            raise NoSuchFile(fields["input_file_id"])
        if file.purpose != "batch":
            raise InvalidField("input_file_id", "must be a file of purpose 'batch'")
        if await count_live(self._means.store, caller.team) >= MOST_LIVE:
            raise TooManyBatches(MOST_LIVE)
        now_s = time.time()
        batch = Batch(
            id=f"batch_{secrets.token_hex(12)}",
            team=caller.team,
            key_id=caller.key_id,
            endpoint=fields["endpoint"],
            input_file_id=file.id,
            labels=fields.get("metadata"),
            created_at_s=now_s,
            expires_at_s=now_s + WINDOW_S,
        )
        await insert_batch(self._means.store, batch)
        self._wake()
        await _answer(exchange, batch)

    async def list(self, exchange: Exchange, caller: Caller, _item: str) -> None:
        """Lists batches, newest first; raises `InvalidField`."""
        params = params_of(exchange.query, ("limit", "after"))
        limit = limit_of(params, USUALLY_LISTED, MOST_LISTED)
        after = params.get("after")
        found = await list_batches(self._means.store, caller.team, limit + 1, after)
        data = [as_json(batch) for batch in found[:limit]]
        await exchange.answer(json.dumps(listing(data, has_more=len(found) > limit)).encode())

    async def show(self, exchange: Exchange, caller: Caller, item: str) -> None:
        """Answers with a batch; raises `NoSuchBatch`."""
        await _answer(exchange, await self._batch(caller, item))

    async def cancel(self, exchange: Exchange, caller: Caller, item: str) -> None:
        """Has a batch cancelled; raises `NoSuchBatch` or `BatchOver`."""
        await self._batch(caller, item)
        await cancel(self._means.store, item, time.time())
        batch = await self._batch(caller, item)
        if batch.cancelling_at_s is None:
            raise BatchOver(batch.id, batch.status)
        self._wake()
        await _answer(exchange, batch)

    async def _body(self, exchange: Exchange) -> bytes:
        limits = self._means.settings.limits
        try:
            async with asyncio.timeout(limits.body_timeout_s):
                return await exchange.body(limits.max_body_bytes)
        except TimeoutError:
            raise BodyTooSlow(limits.body_timeout_s) from None

    async def _batch(self, caller: Caller, batch_id: str) -> Batch:
        batch = await batch_of(self._means.store, batch_id, caller.team)
        if batch is None:
            raise NoSuchBatch(batch_id)
        return batch


async def _answer(exchange: Exchange, batch: Batch) -> None:
    await exchange.answer(json.dumps(as_json(batch)).encode())
