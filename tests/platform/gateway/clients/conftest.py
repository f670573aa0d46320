"""A gateway whose models `small` and `large` are fakes that can think and call tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.platform.gateway.calling_engine import CallingEngine

if TYPE_CHECKING:
    from tests.platform.gateway.system import System


@pytest.fixture
async def system(bare: System) -> System:
    """Replaces the plain fakes of the folder above."""
    await bare.add(CallingEngine("small"), name="small")
    await bare.add(CallingEngine("large"), window=32768, name="large")
    return bare


@pytest.fixture
def large(system: System) -> CallingEngine:
    engine: CallingEngine = system.engines["large"]
    return engine
