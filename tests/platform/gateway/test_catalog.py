"""Names, aliases and what the router is told of a model."""

from __future__ import annotations

import pytest
from tests.platform.gateway.system import settings

from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import UnknownModel
from turnout.gateway.replicas import Replica


def replica(window: int) -> Replica:
    return Replica(f"r{window}", "small", "reserved", None, window)


@pytest.mark.parametrize(
    ("asked", "model"),
    [("auto", "auto"), ("small", "small"), ("tiny", "small"), ("large", "large")],
)
def test_a_name_or_alias_is_resolved(asked: str, model: str) -> None:
    assert Catalog(settings()).resolve(asked) == model


@pytest.mark.parametrize("asked", ["", "Small", "small ", "x" * 9999])
def test_any_other_name_is_unknown(asked: str) -> None:
    with pytest.raises(UnknownModel, match="auto, small, large, tiny") as raised:
        Catalog(settings()).resolve(asked)
    assert len(str(raised.value)) < 300


def test_the_narrowest_ready_replica_counts_as_the_window() -> None:
    (candidate,) = Catalog(settings()).candidates(["small"], lambda _: [replica(9), replica(5)])
    assert candidate.context_window == 5
    assert candidate.is_ready


def test_what_replicas_have_become_is_seen_at_the_next_look() -> None:
    catalog = Catalog(settings())
    table: dict[str, list[Replica]] = {}
    for ready, window in (([replica(9)], 9), ([replica(5)], 5), ([], 1 << 62)):
        table["small"] = ready
        (candidate,) = catalog.candidates(["small"], table.__getitem__)
        assert (candidate.context_window, candidate.is_ready) == (window, bool(ready))


def test_a_model_without_replicas_has_no_known_window() -> None:
    catalog = Catalog(settings())
    (candidate,) = catalog.candidates(["small"], lambda _: [])
    assert not candidate.is_ready
    assert candidate.context_window > 10**9
    assert all(entry["context_window"] is None for entry in catalog.listing(lambda _: []))
