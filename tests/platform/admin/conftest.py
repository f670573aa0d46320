"""The admin API over each real database, called as a client would."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.admin.app import build_admin
from turnout.admin.key import parse_keys

ALICE, BOB = "a" * 32, "b" * 32
KEYS = f"alice {ALICE}\nbob {BOB}\n"


@pytest.fixture
async def admin(store: AsyncEngine) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the admin API that holds alice's admin key."""
    app = build_admin(store, parse_keys(KEYS))
    headers = {"authorization": f"Bearer {ALICE}"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://admin", headers=headers
    ) as client:
        yield client


@pytest.fixture
async def search(admin: httpx.AsyncClient) -> str:
    """A team."""
    assert (await admin.put("/admin/teams/search", json={})).status_code == 200
    return "search"
