"""What stands under `/v1/files` and `/v1/batches`: a path and a method to their page."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping

from turnout.access.caller import Caller
from turnout.batches.batch_pages import BatchPages
from turnout.batches.errors import BatchesUnavailable
from turnout.batches.file_pages import FilePages
from turnout.gateway.errors import MethodNotAllowed, RequestTimedOut, UnknownPath
from turnout.gateway.exchange import Exchange
from turnout.store.errors import FAILURES

log = logging.getLogger(__name__)
PREFIXES = ("/v1/files", "/v1/batches")
RETRY_AFTER_S = 5
_PATH = re.compile(r"/v1/(files|batches)(?:/([A-Za-z0-9_-]{1,64})(/content|/cancel)?)?", re.ASCII)
Page = Callable[[Exchange, Caller, str], Awaitable[None]]


async def answer(
    exchange: Exchange, caller: Caller, files: FilePages, batches: BatchPages, timeout_s: float
) -> None:
    """Answers with the page at a path; raises a `RequestError`."""
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
    found = _PATH.fullmatch(exchange.path)
    if found is None:
        raise UnknownPath(exchange.method, exchange.path)
    noun, item, part = found[1], found[2], found[3]
    pages: Mapping[tuple[str, bool, str | None], Mapping[str, Page]] = {
        ("files", False, None): {"GET": files.list, "POST": files.upload},
        ("files", True, None): {"GET": files.show, "DELETE": files.delete},
        ("files", True, "/content"): {"GET": files.content},
        ("batches", False, None): {"GET": batches.list, "POST": batches.create},
        ("batches", True, None): {"GET": batches.show},
        ("batches", True, "/cancel"): {"POST": batches.cancel},
    }
    methods = pages.get((noun, item is not None, part))
    if methods is None:
        raise UnknownPath(exchange.method, exchange.path)
    if exchange.method not in methods:
        raise MethodNotAllowed(exchange.method, exchange.path, tuple(methods))
    return methods[exchange.method], item or ""
