"""Histograms of lengths: a CSV of value,weight (with or without a header), or JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator

from turnout_load.errors import BadData
from turnout_load.workload.reading import decoded, lines, mapped

Pair = tuple[float, float]


def read_histogram(path: str) -> dict[float, float]:
    """Returns the weight of each value; raises BadData with the line that cannot be used.

    JSON is `[[value, weight], …]` or `{"value": weight, …}`.
    """
    weights: dict[float, float] = {}
    for line, (value, weight) in _pairs(path):
        if not (0 <= value < math.inf and 0 <= weight < math.inf):
            raise BadData(path, line, f"{value:g},{weight:g}: no number may be below 0")
        weights[value] = weights.get(value, 0.0) + weight
    if not sum(weights.values()):
        raise BadData(path, None, "a histogram needs a weight above 0")
    return weights


def _pairs(path: str) -> Iterator[tuple[int | None, Pair]]:
    data = mapped(path)
    if data[:1] in (b"[", b"{"):
        yield from ((None, pair) for pair in _json_pairs(path, data[:]))
        return
    for line in lines(data):
        try:
            value, weight = map(float, line.text.split(b","))
        except ValueError as error:
            if line.number == 1:
                continue  # a header
            raise BadData(path, line.number, "expected value,weight") from error
        yield line.number, (value, weight)


def _json_pairs(path: str, text: bytes) -> list[Pair]:
    try:
        read = decoded(text, list[Pair] | dict[float, float])  # type: ignore[arg-type]
    except ValueError as error:
        raise BadData(path, None, f"expected [[value, weight], …]: {error}") from error
    return list(read.items()) if isinstance(read, dict) else read
