"""Starts a gateway over fakes for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import FakeTable, System, eventually, new_gateway, serving

from turnout.gateway.listener import GuardedHttp
from turnout.gateway.transport import DirectTransport


@pytest.fixture
async def bare() -> AsyncIterator[System]:
    """A gateway without any replica; when a test ends, nothing of it may still run."""
    async with AsyncExitStack() as stack:
        table, transport = FakeTable(), DirectTransport(connect_timeout_s=5.0)
        stack.push_async_callback(transport.close)
        gateway = new_gateway(table, transport)
        url = await stack.enter_async_context(serving(gateway, http=GuardedHttp))
        client = httpx.AsyncClient(base_url=url, verify=False, trust_env=False, timeout=20)
        await stack.enter_async_context(client)
        built = System(
            gateway, table, client, url, lambda app: stack.enter_async_context(serving(app))
        )
        yield built
        await eventually(lambda: built.is_idle)


@pytest.fixture
async def system(bare: System) -> System:
    """A gateway over one small (window 2048) and one large (32768) fake engine."""
    await bare.add(FakeEngine("small"), name="small")
    await bare.add(FakeEngine("large"), window=32768, name="large")
    return bare


@pytest.fixture
def small(system: System) -> FakeEngine:
    engine: FakeEngine = system.engines["small"]
    return engine


@pytest.fixture
def large(system: System) -> FakeEngine:
    engine: FakeEngine = system.engines["large"]
    return engine
