"""Files and batches of a gateway that stands alone, open to everybody who can reach it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from turnout.access.caller import OpenAccess
from turnout.batches.desk import Desk
from turnout.config.settings import GatewaySettings
from turnout.gateway.app import Gateway, Governance
from turnout.store.engine import STATE_DIR, database_url, open_store
from turnout.store.migrate import migrate


@asynccontextmanager
async def batches(gateway: Gateway, settings: GatewaySettings, state: Path) -> AsyncIterator[None]:
    """Has a gateway take files and batches, kept in a folder and its database."""
    store = open_store(database_url({**os.environ, STATE_DIR: str(state)}))
    desk = Desk(store, OpenAccess().caller_of, gateway, state)
    try:
        await migrate(store)
        gateway.govern(Governance(desk=desk))
        await desk.configure(settings)
        yield
    finally:
        await desk.stop()
        await store.dispose()
