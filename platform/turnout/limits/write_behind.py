"""What happens behind requests: settlements go out, leases are renewed, a lost server is found."""

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Callable, Mapping, Sequence

from turnout.limits.amounts import Subject
from turnout.limits.outbox import Outbox
from turnout.limits.scripts import Account, Settlement
from turnout.limits.shared import SharedAccounts, SharedFault

log = logging.getLogger(__name__)
BATCH = 64
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0
"""Before a server that is away is tried again; each pause doubles the one before."""
STEADY_S = 10.0
"""A server that was back for less than this is tried again ever more slowly."""
Running = Callable[[], Mapping[Subject, Sequence[str]]]
"""Tells the tokens of the requests that run, for each key and team."""
Delivered = Callable[[Settlement, Sequence[Account]], None]


class WriteBehind:
    """Writes to shared accounts without anybody waiting; knows whether they can be reached."""

    def __init__(
        self, accounts: SharedAccounts, lease_s: float, running: Running, delivered: Delivered
    ) -> None:
        """Leases are renewed three times in `lease_s`."""
        self._accounts = accounts
        self._lease_ms, self._renew_s = int(lease_s * 1000), lease_s / 3
        self._running, self._delivered = running, delivered
        self._outbox = Outbox()
        self._wake = asyncio.Event()
        self._on_their_way = 0
        self._task: asyncio.Task[None] | None = None
        self._pause_s = FIRST_PAUSE_S
        self._found_at_s = self._renewed_at_s = 0.0
        self.is_up = True
        """Whether requests should use the shared accounts."""

    @property
    def unsettled(self) -> int:
        """Settlements that are not written yet."""
        return len(self._outbox) + self._on_their_way

    def start(self) -> None:
        """Begins to write; does nothing when it has begun already."""
        if self._task is None:
            self._renewed_at_s = _now_s()
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Delivers what waits if that is possible now, and ends."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        with contextlib.suppress(*SharedFault):
            await self._deliver()

    def send(self, settlement: Settlement) -> None:
        """Queues a settlement."""
        self._outbox.put(settlement)
        self._wake.set()

    def lost(self, fault: Exception) -> None:
        """Learns that the accounts could not be reached."""
        if self.is_up:
            log.warning("shared_limits_lost", extra={"error": type(fault).__name__})
            if _now_s() - self._found_at_s > STEADY_S:
                self._pause_s = FIRST_PAUSE_S
        self.is_up = False
        self._wake.set()

    def _found(self) -> None:
        if not self.is_up:
            log.warning("shared_limits_found")
            self._outbox.report()
            self._found_at_s = _now_s()
        self.is_up = True

    async def _run(self) -> None:
        while True:
            await self._until_needed()
            try:
                if not self.is_up:
                    await asyncio.sleep(self._pause_s)
                    self._pause_s = min(LONGEST_PAUSE_S, 2 * self._pause_s)
                    await self._accounts.ping()
                    self._renewed_at_s = -self._renew_s  # it may have lost all leases
                await self._deliver()
                await self._renew()
            except SharedFault as fault:
                self.lost(fault)
            except Exception as fault:  # noqa: BLE001 - the edge of a task that must go on
                stack = "".join(traceback.format_tb(fault.__traceback__))
                log.error(
                    "shared_limits_fault", extra={"error": type(fault).__name__, "stack": stack}
                )
            else:
                self._found()

    async def _until_needed(self) -> None:
        """Waits for something to write, a loss, or the time to renew leases."""
        rest_s = max(0.0, self._renewed_at_s + self._renew_s - _now_s())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), rest_s)
        self._wake.clear()

    async def _deliver(self) -> None:
        while batch := self._outbox.take(BATCH):
            self._on_their_way = len(batch)
            try:
                accounts = await self._accounts.settle(batch)
            except (*SharedFault, asyncio.CancelledError):
                self._outbox.put_back(batch)
                raise
            finally:
                self._on_their_way = 0
            for settlement, after in zip(batch, accounts, strict=True):
                self._delivered(settlement, after)

    async def _renew(self) -> None:
        if _now_s() - self._renewed_at_s >= self._renew_s:
            await self._accounts.renew(self._running(), self._lease_ms)
            self._renewed_at_s = _now_s()


def _now_s() -> float:
    return asyncio.get_running_loop().time()
