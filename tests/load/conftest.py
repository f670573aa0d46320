"""The mock in a process of its own, shared by every test that needs a server."""

from collections.abc import Iterator

import pytest

from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings


@pytest.fixture(scope="session")
def mock() -> Iterator[str]:
    """The base URL of a mock whose first token takes 20 ms and every other one 2 ms."""
    with started(MockSettings(ttft_ms=20, itl_ms=2, tokens=8)) as address:
        yield f"{address}/v1"
