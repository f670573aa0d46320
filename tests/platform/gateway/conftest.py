"""Loads the fakes beside this file (test folders are no packages) and starts a system per test."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from turnout.gateway.transport import DirectTransport

if TYPE_CHECKING:
    from tests.platform.gateway.fake_engine import FakeEngine
    from tests.platform.gateway.system import System


def _load(name: str) -> None:
    """Makes a file here importable as `tests.platform.gateway.<name>`, as mypy sees it."""
    full_name = f"tests.platform.gateway.{name}"
    spec = spec_from_file_location(full_name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[full_name] = module
    spec.loader.exec_module(module)


_load("fake_engine")
_load("token_engine")
_load("calling_engine")
_load("system")
_load("memory")


@pytest.fixture
async def bare() -> AsyncIterator[System]:
    """A gateway without any replica; when a test ends, nothing of it may still run."""
    from tests.platform.gateway.system import (  # noqa: PLC0415 - loaded above
        FakeTable,
        System,
        eventually,
        new_gateway,
        serving,
    )

    async with AsyncExitStack() as stack:
        table, transport = FakeTable(), DirectTransport(connect_timeout_s=5.0)
        stack.push_async_callback(transport.close)
        gateway = new_gateway(table, transport)
        url = await stack.enter_async_context(serving(gateway))
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
    from tests.platform.gateway.fake_engine import FakeEngine  # noqa: PLC0415 - loaded above

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
