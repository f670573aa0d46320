"""What a gateway process keeps its keys, limits and usage in; opened once, settings may change."""

from __future__ import annotations

import asyncio
import functools
import logging
import os

from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.access.caller import Caller, Denied, OpenAccess
from turnout.access.directory import Directory
from turnout.config.settings import GatewaySettings, LimiterSettings
from turnout.errors import TurnoutError
from turnout.gateway.app import Governance
from turnout.limits.build import build as build_limiter
from turnout.limits.build import spending_in
from turnout.limits.claim import Limiter
from turnout.limits.redis import RedisLimiter
from turnout.store.engine import open_store, state_dir
from turnout.store.errors import FAILURES
from turnout.store.keys import find
from turnout.store.migrate import migrate
from turnout.store.usage import insert_usage
from turnout.store.usage_reports import StoredReports
from turnout.usage.ledger import DiskLedger

log = logging.getLogger(__name__)
MIGRATE_TIMEOUT_S = 10.0
MIGRATE_PAUSE_S = 5.0


class WrongDatabase(TurnoutError):
    """The settings and DATABASE_URL name different databases."""

    def __init__(self, wanted: str, found: str) -> None:
        super().__init__(wanted, found)
        self.wanted, self.found = wanted, found

    def __str__(self) -> str:
        return (
            f"the gateway's settings say database: {self.wanted}, but DATABASE_URL names "
            f"{self.found}: change one of them"
        )


class Keeper:
    """The store and what hangs on it, for one gateway process."""

    def __init__(self, process: str) -> None:
        """Opens nothing yet; `process` names this one's usage journal."""
        self.store = open_store()
        insert = functools.partial(insert_usage, self.store)
        self.ledger = DiskLedger(state_dir() / "usage", process, insert).start()
        self._reports = StoredReports(self.store)
        self._directory: Directory | None = None
        self._access: Directory | OpenAccess = OpenAccess()
        self._limiter: Limiter | None = None
        self._limiter_settings: LimiterSettings | None = None
        self._migration = asyncio.create_task(_migrated(self.store))

    async def governance(self, settings: GatewaySettings) -> Governance:
        """Returns what requests are judged by from now on; raises `WrongDatabase`, `NoRedisUrl`."""
        found = self.store.dialect.name
        if found != settings.database:
            raise WrongDatabase(settings.database, found)
        # A store that is away keeps nobody from starting: keys are then checked once it is back.
        await asyncio.wait((self._migration,), timeout=MIGRATE_TIMEOUT_S)
        if self._limiter is None or self._limiter_settings != settings.limiter:
            self._limiter = build_limiter(settings.limiter, os.environ, spending_in(self.store))
            self._limiter_settings = settings.limiter
        self._access = self._accessed(settings)
        return Governance(self._access, self._limiter, self.ledger, self._reports)

    async def owner(self, key_id: str) -> Caller | Denied:
        """Returns whom a key stands for now, by its public id."""
        return await self._access.caller_of(key_id)

    async def close(self) -> None:
        """Writes the usage that waits, then lets go of the database."""
        self._migration.cancel()
        await self.ledger.stop()
        if self._directory is not None:
            await self._directory.close()
        if isinstance(self._limiter, RedisLimiter):
            await self._limiter.close()
        await self.store.dispose()

    def _accessed(self, settings: GatewaySettings) -> Directory | OpenAccess:
        if settings.keys == "off":
            return OpenAccess()
        if self._directory is None:
            self._directory = Directory(functools.partial(find, self.store), settings.access)
        self._directory.configure(settings.access)
        return self._directory


async def _migrated(store: AsyncEngine) -> None:
    while True:
        try:
            return await migrate(store)
        except FAILURES as error:
            log.warning("store_away", extra={"error": type(error).__name__})
            await asyncio.sleep(MIGRATE_PAUSE_S)
