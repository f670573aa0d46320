"""Measures a decision's latency and what loading the router costs."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from turnout_router.policy import Candidate, Need, RouterSettings, decide
from turnout_router.router import Router
from turnout_router.text import prompt_text

SENTENCE = "A train leaves at 8:15 and travels 120 km in 1.5 hours; how fast is it on average? "
TEXTS = {
    "short": "What is the capital of France?",
    "typical": SENTENCE * 4,
    "at the bound": SENTENCE * 25,
    "1 MB": SENTENCE * 12_500,
    "other script": "你好法国的首都是哪里" * 30,
    "emoji": "😀🚂🎉" * 700,
    "binary-looking": "\x00\x01\ufffd\x7f" * 512,
}
SETTINGS = RouterSettings(tiers=("small", "large"), good_enough={"small": 0.65})
CANDIDATES = tuple(
    Candidate(tier, tier, 8192, frozenset({"chat"}), is_ready=True) for tier in SETTINGS.tiers
)
NEED = Need(prompt_tokens_at_most=100, max_tokens=100, capabilities=frozenset({"chat"}))


@dataclass(frozen=True)
class Measured:
    """Loading in seconds and megabytes; rows of kind, characters, p50 and p99 in milliseconds."""

    load_s: float
    added_mb: float
    rows: list[tuple[str, int, float, float]]


def measure(encoder: str, artifact: Path, encoder_path: Path | None, repeats: int) -> Measured:
    """Loads a router and times request body to decision, one request at a time."""
    process = psutil.Process()
    before, started = process.memory_info().rss, time.perf_counter()
    router = Router.load(encoder, artifact, encoder_path)
    load_s = time.perf_counter() - started
    rows = []
    for kind, text in TEXTS.items():
        body = {"messages": [{"role": "user", "content": text}]}
        p50_ms, p99_ms = np.percentile(_times_ms(router, body, repeats), [50, 99])
        rows.append((kind, len(text), float(p50_ms), float(p99_ms)))
    return Measured(load_s, (process.memory_info().rss - before) / 2**20, rows)


def _times_ms(router: Router, body: Mapping[str, object], repeats: int) -> list[float]:
    times_ms = []
    for _ in range(repeats):
        started = time.perf_counter()
        decide(NEED, CANDIDATES, router.difficulty(prompt_text(body)), SETTINGS)
        times_ms.append((time.perf_counter() - started) * 1e3)
    return times_ms[len(times_ms) // 10 :]  # without the first ones, which warm up
