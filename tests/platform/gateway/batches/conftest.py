"""A gateway that takes files and batches, its store a real database, its files in a folder."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

if TYPE_CHECKING:
    from tests.platform.gateway.batches.office import Office
    from tests.platform.gateway.system import System


def _load(name: str) -> None:
    """Makes a file here importable as `tests.platform.gateway.batches.<name>`."""
    full_name = f"tests.platform.gateway.batches.{name}"
    spec = spec_from_file_location(full_name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[full_name] = module
    spec.loader.exec_module(module)


_load("office")


@pytest.fixture
async def office(system: System, store: AsyncEngine, tmp_path: Path) -> AsyncIterator[Office]:
    """Files and batches of `system`, with one worker."""
    from tests.platform.gateway.batches.office import Office  # noqa: PLC0415 - loaded above

    async with Office(system, store, tmp_path) as opened:
        yield opened
