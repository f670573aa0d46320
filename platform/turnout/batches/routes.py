"""What stands under `/v1/files` and `/v1/batches`: a path and a method to their page."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from turnout.access.caller import Caller
from turnout.batches.batch_pages import BatchPages
from turnout.batches.errors import BatchesUnavailable
from turnout.batches.file_pages import FilePages
from turnout.batches.paths import place_of
from turnout.gateway.errors import RequestTimedOut
from turnout.gateway.exchange import Exchange
from turnout.store.errors import FAILURES

log = logging.getLogger(__name__)
RETRY_AFTER_S = 5
Page = Callable[[Exchange, Caller, str], Awaitable[None]]


async def answer(
    exchange: Exchange, caller: Caller, files: FilePages, batches: BatchPages, timeout_s: float
) -> None:
    """Answers with the page at one of `paths`; raises a `RequestError`."""
    page, item = _page(exchange, files, batches)
    try:
        async with asyncio.timeout(timeout_s) as timer:
            await page(exchange, caller, item)
    except TimeoutError:
        if timer.expired():
            raise RequestTimedOut(timeout_s) from None
        raise BatchesUnavailable("files and batches cannot be read now", RETRY_AFTER_S) from None
    except FAILURES as error:
        log.warning("batches_away", extra={"error": type(error).__name__})
        raise BatchesUnavailable("files and batches cannot be read now", RETRY_AFTER_S) from None


def _page(exchange: Exchange, files: FilePages, batches: BatchPages) -> tuple[Page, str]:
    place, item = place_of(exchange.path)
    pages: Mapping[tuple[str, str], Page] = {
        ("GET", "files"): files.list,
        ("POST", "files"): files.upload,
        ("GET", "files/{id}"): files.show,
        ("DELETE", "files/{id}"): files.delete,
        ("GET", "files/{id}/content"): files.content,
        ("GET", "batches"): batches.list,
        ("POST", "batches"): batches.create,
        ("GET", "batches/{id}"): batches.show,
        ("POST", "batches/{id}/cancel"): batches.cancel,
    }
    return pages[exchange.method, place], item
