"""What an engine tells of itself is what vLLM's metrics say."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
import ray
from prometheus_client import CollectorRegistry, Gauge, Histogram

from turnout.gateway.replicas import EngineLoad
from turnout_deployments.engine_stats import ITL, KV_USAGE, RUNNING, TTFT, WAITING, EngineStats

LABELS = ("model_name", "engine")


class Registry(CollectorRegistry):
    """As vLLM fills it: one series for each data-parallel engine."""

    def __init__(self) -> None:
        super().__init__()
        self.gauges = {
            name: Gauge(name, "-", LABELS, registry=self) for name in (WAITING, RUNNING, KV_USAGE)
        }
        self.times = {name: Histogram(name, "-", LABELS, registry=self) for name in (TTFT, ITL)}

    def set(self, name: str, value: float, engine: str = "0") -> None:
        self.gauges[name].labels("m", engine).set(value)

    def observe(self, name: str, seconds: float) -> None:
        self.times[name].labels("m", "0").observe(seconds)


@pytest.fixture
def registry() -> Registry:
    return Registry()


def test_it_tells_the_fields_of_a_load(registry: Registry) -> None:
    assert EngineStats(registry).read().keys() == {field.name for field in fields(EngineLoad)}


def test_queues_of_all_its_engines_count_together(registry: Registry) -> None:
    registry.set(WAITING, 3)
    registry.set(RUNNING, 4)
    registry.set(RUNNING, 2, engine="1")
    registry.set(KV_USAGE, 0.12345)
    told = EngineStats(registry).read()
    assert (told["waiting"], told["running"], told["kv_usage"]) == (3, 6, 0.12)


def test_times_are_means_since_it_was_last_asked(registry: Registry) -> None:
    stats = EngineStats(registry)
    registry.observe(TTFT, 1.0)
    assert stats.read()["ttft_s"] == 1.0
    for seconds in (0.2, 0.4):
        registry.observe(TTFT, seconds)
        registry.observe(ITL, seconds / 10)
    told = stats.read()
    assert (told["ttft_s"], told["itl_s"]) == (0.3, 0.03)
    assert stats.read()["ttft_s"] is None


def test_an_engine_without_metrics_is_idle_as_far_as_anyone_knows() -> None:
    assert EngineStats(CollectorRegistry()).read() == {
        "waiting": 0,
        "running": 0,
        "kv_usage": 0.0,
        "ttft_s": None,
        "itl_s": None,
    }


def test_vllm_still_has_these_metrics() -> None:
    """By text: importing it takes seconds."""
    loggers = Path(ray.__file__).parents[1] / "vllm/v1/metrics/loggers.py"
    source = loggers.read_text()
    for name in (WAITING, RUNNING, KV_USAGE, TTFT, ITL):
        assert f'name="{name}"' in source
