"""Records and results made by hand, and a browser's view of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.load.made import records_of

from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.result import Client, Counts, Distribution, Rates, Result

MS = 1_000_000
VOID = {"meta", "br", "img", "input", "link", "hr"}


def request_of(index: int = 0, at: float = 0, **changes: Any) -> Record:
    """A whole answer due at `at` ms: 10 ms at the client, 40 to the first token, 100 of stream."""
    values: dict[str, Any] = {
        "index": index,
        "intended_ns": round(at * MS),
        "sent_ns": round((at + 10) * MS),
        "first_ns": round((at + 50) * MS),
        "last_ns": round((at + 150) * MS),
        "end_ns": round((at + 150) * MS),
        "status": 200,
        "chunks": 11,
        "longest_gap_ns": 12 * MS,
        "input_tokens": 7,
        "output_tokens": 11,
        "model": "small",
    }
    return Record(**values | changes)


def distribution_of(p50: float, **changes: Any) -> Distribution:
    """Percentiles that are plain multiples of the median."""
    values: dict[str, Any] = {
        "count": 1000,
        "mean": p50,
        "min": p50 / 2,
        "max": p50 * 10,
        "p50": p50,
        "p75": p50 * 1.5,
        "p90": p50 * 2,
        "p95": p50 * 3,
        "p99": p50 * 4,
        "p99_9": p50 * 5,
        "ci95": {"p50": (p50 - 1, p50 + 1), "p95": None},
    }
    return Distribution(**values | changes)


def result_of(**changes: Any) -> Result:
    """A run of 100 requests in 10 s of which one failed."""
    values: dict[str, Any] = {
        "started_at": "2026-08-01T10:00:00+00:00",
        "duration_s": 10.0,
        "was_stopped": False,
        "spec": {
            "target": {"url": "http://127.0.0.1:8000/v1", "model": "auto"},
            "workload": {"arrivals": "poisson", "rate": 10.0, "input_tokens": "fixed:128"},
            "duration_s": 10.0,
            "seed": 7,
        },
        "environment": {"python": "3.11.7"},
        "requests": Counts(sent=100, ok=99, failed=1, unfinished=0, warm_up=0),
        "rates": Rates(
            measured_s=10.0,
            requests_intended=10.0,
            requests_finished=9.9,
            input_tokens=None,
            output_tokens=108.9,
        ),
        "ttft_ms": distribution_of(50.0),
        "itl_ms": None,
        "tpot_ms": None,
        "e2e_ms": distribution_of(150.0),
        "normalized_latency_ms_per_token": None,
        "output_tps": None,
        "send_delay_ms": None,
        "input_tokens": None,
        "output_tokens": None,
        "goodput": None,
        "cost": None,
        "prefix_cache": None,
        "models": {},
        "errors": {},
        "client": Client(
            processes=1,
            cpu_share=0.25,
            is_bottleneck=False,
            because="it kept up",
            connections_opened=4,
            peak_in_flight=5,
            peak_memory_mib=50.0,
        ),
        "notes": [],
    }
    return Result(**values | changes)


@dataclass
class Page(HTMLParser):
    """What a browser makes of a page: tags, attributes and texts, each within which tag."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    unclosed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.unclosed:
            self.texts.append((self.unclosed[-1], data))

    @property
    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}

    def all_text(self, *within: str) -> str:
        return "\n".join(text for tag, text in self.texts if not within or tag in within)


@pytest.fixture
def parse() -> Callable[[str], Page]:
    def parsed(content: str) -> Page:
        page = Page()
        page.feed(content)
        page.close()
        assert not page.unclosed
        return page

    return parsed


@pytest.fixture
def make_request() -> Callable[..., Record]:
    return request_of


@pytest.fixture
def make_records() -> Callable[[Iterable[Record]], Records]:
    return lambda several: records_of(*several)


@pytest.fixture
def make_result() -> Callable[..., Result]:
    return result_of


@pytest.fixture
def make_distribution() -> Callable[..., Distribution]:
    return distribution_of
