from __future__ import annotations

from collections.abc import Iterator

import httpx
import openai
import pytest

from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings

SETTINGS = MockSettings(ttft_ms=20, itl_ms=4, tokens=6, models=("small", "large"), cached_share=0.5)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with started(SETTINGS) as address:
        yield address


@pytest.fixture
def http(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=10) as client:
        yield client


@pytest.fixture
def client(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{address}/v1", api_key="none", max_retries=0, timeout=10
    ) as client:
        yield client
