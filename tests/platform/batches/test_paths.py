"""Which paths are files' and batches', and what they take."""

from __future__ import annotations

import pytest

from turnout.batches.paths import methods_of, place_of


@pytest.mark.parametrize(
    ("path", "place", "item", "methods"),
    [
        ("/v1/files", "files", "", ("GET", "POST")),
        ("/v1/files/file-1_A", "files/{id}", "file-1_A", ("GET", "DELETE")),
        ("/v1/files/x/content", "files/{id}/content", "x", ("GET",)),
        ("/v1/batches", "batches", "", ("GET", "POST")),
        ("/v1/batches/x", "batches/{id}", "x", ("GET",)),
        ("/v1/batches/x/cancel", "batches/{id}/cancel", "x", ("POST",)),
    ],
)
def test_each_path_has_its_methods(
    path: str, place: str, item: str, methods: tuple[str, ...]
) -> None:
    assert place_of(path) == (place, item)
    assert methods_of(path) == methods


@pytest.mark.parametrize(
    "path",
    [
        "/v1/filesystem",
        "/v1/files/",
        "/v1/files/..",
        "/v1/files/a/b",
        "/v1/files/x/cancel",
        "/v1/batches/x/content",
        "/v1/files/x\x00",
        "/v1/files/x\n",
        f"/v1/files/{'x' * 65}",
        "/v1/models",
    ],
)
def test_other_paths_are_not_ours(path: str) -> None:
    assert (place_of(path), methods_of(path)) == (("", ""), ())
