"""What a vLLM engine in this process says of itself, read from its Prometheus metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.metrics_core import Metric

WAITING = "vllm:num_requests_waiting"
RUNNING = "vllm:num_requests_running"
KV_USAGE = "vllm:kv_cache_usage_perc"
TTFT = "vllm:time_to_first_token_seconds"
ITL = "vllm:inter_token_latency_seconds"
SAMPLES = (
    *(WAITING, RUNNING, KV_USAGE),
    *(f"{name}_{part}" for name in (TTFT, ITL) for part in ("sum", "count")),
)


class EngineStats:
    """Reads the few numbers that balancing needs: some 0.1 ms, the rest of the page untouched."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._registry: Any = registry
        self._before: dict[str, float] = {}

    def read(self) -> dict[str, Any]:
        """Returns `EngineLoad`'s fields; times are means since the last call, None without any.

        Rounded, as Serve sends all handles the whole table whenever one number changes.
        """
        now = _sums(self._registry.restricted_registry(SAMPLES).collect())
        before, self._before = self._before, now
        return {
            "waiting": int(now.get(WAITING, 0)),
            "running": int(now.get(RUNNING, 0)),
            "kv_usage": round(now.get(KV_USAGE, 0.0), 2),
            "ttft_s": _mean(TTFT, now, before),
            "itl_s": _mean(ITL, now, before),
        }


def _sums(families: Iterable[Metric]) -> dict[str, float]:
    """Returns each sample's sum over its labels: one engine per data-parallel rank."""
    sums: dict[str, float] = {}
    for family in families:
        for sample in family.samples:
            if sample.name in SAMPLES:
                sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
    return sums


def _mean(name: str, now: dict[str, float], before: dict[str, float]) -> float | None:
    total, count = f"{name}_sum", f"{name}_count"
    began = now.get(count, 0.0) - before.get(count, 0.0)
    if began <= 0:
        return None
    return round((now[total] - before.get(total, 0.0)) / began, 4)
