"""Notices a stream that has gone quiet, at no cost per chunk."""

import asyncio
from types import TracebackType

_TICKS = 4


class StallWatch:
    """Raises TimeoutError in the task inside when nothing was `heard` for the given time.

    Only waiting for the engine counts: `is_sending` is set while a slow client is waited for.
    """

    def __init__(self, after_s: float) -> None:
        self._tick_s = after_s / _TICKS
        self._quiet_ticks = 0
        self.is_sending = False
        self._limit = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> "StallWatch":
        await self._limit.__aenter__()
        self._next()
        return self

    def heard(self) -> None:
        """Takes in that bytes have come."""
        self._quiet_ticks = 0

    def _next(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._tick_s, self._tick)

    def _tick(self) -> None:
        self._quiet_ticks = 0 if self.is_sending else self._quiet_ticks + 1
        if self._quiet_ticks > _TICKS:
            self._limit.reschedule(asyncio.get_running_loop().time())
        else:
            self._next()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._timer is not None
        self._timer.cancel()
        await self._limit.__aexit__(kind, error, trace)
