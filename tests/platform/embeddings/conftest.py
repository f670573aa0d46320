"""The fake of an embedding model."""

from __future__ import annotations

import pytest
from tests.platform.embeddings.counting_model import CountingModel


@pytest.fixture
def model() -> CountingModel:
    return CountingModel()
