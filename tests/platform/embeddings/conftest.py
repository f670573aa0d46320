"""Loads the fake beside this file (test folders are no packages)."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.platform.embeddings.counting_model import CountingModel


def _load(name: str) -> None:
    """Makes a file here importable as `tests.platform.embeddings.<name>`, as mypy sees it."""
    full_name = f"tests.platform.embeddings.{name}"
    spec = spec_from_file_location(full_name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[full_name] = module
    spec.loader.exec_module(module)


_load("counting_model")


@pytest.fixture
def model() -> CountingModel:
    from tests.platform.embeddings.counting_model import CountingModel  # noqa: PLC0415

    return CountingModel()
