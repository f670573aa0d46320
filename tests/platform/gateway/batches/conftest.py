"""A gateway that takes files and batches, its store a real database, its files in a folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from tests.platform.gateway.batches.office import Office
from tests.platform.gateway.system import System


@pytest.fixture
async def office(system: System, store: AsyncEngine, tmp_path: Path) -> AsyncIterator[Office]:
    """Files and batches of `system`, with one worker."""
    async with Office(system, store, tmp_path) as opened:
        yield opened
