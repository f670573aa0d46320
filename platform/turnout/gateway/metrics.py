"""The gateway's Prometheus metrics, and how those of several gateway replicas become one page."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

# From a warm GPU's few milliseconds to a cold CPU's minute.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
DECISION_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25)
Child = TypeVar("Child", Counter, Gauge, Histogram)


class GatewayMetrics:
    """Everything one gateway replica counts, in a registry of its own.

    `requests("chat", "small", "200").inc()`: metrics with labels are called with their values.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter(
            "turnout_requests", "Answered requests.", ("endpoint", "model", "status")
        )
        self.decisions = self._counter(
            "turnout_decisions", "Models picked, by what was asked for.", ("asked", "model")
        )
        self.tokens = self._counter(
            "turnout_tokens", "Tokens, as engines count them.", ("model", "kind")
        )
        self.replica_failures = self._counter(
            "turnout_replica_failures", "Replicas that failed a request.", ("model", "market")
        )
        self.retries = self._counter(
            "turnout_retries", "Requests sent again after a replica failed.", ("model",)
        )
        self.resumes = self._counter(
            "turnout_stream_resumes", "Streams that went on elsewhere.", ("model",)
        )
        self.hedges = self._counter(
            "turnout_hedges", "Second requests because the first token was late.", ("model",)
        )
        self.hedges_won = self._counter(
            "turnout_hedges_won", "Of them, those that answered first.", ("model",)
        )
        self.fallbacks = self._counter(
            "turnout_fallbacks", "Answers of a model that stood in.", ("model", "instead")
        )
        self.overflows = self._counter(
            "turnout_overflows", "Requests that another model took over.", ("model", "instead")
        )
        self.overload_refusals = self._counter(
            "turnout_overload_refusals", "Requests refused under overload.", ("model", "reason")
        )
        self.queued = self._gauge(
            "turnout_requests_queued",
            "Requests waiting for a place on a replica.",
            ("model", "priority"),
        )
        self.queue_s = self._histogram(
            "turnout_queue_seconds",
            "Time that requests waited, of those that had to.",
            ("model", "priority"),
        )
        self.in_flight = self._gauge("turnout_requests_in_flight", "Requests running.", ("model",))
        self.ready = Gauge(
            "turnout_replicas_ready", "Ready replicas.", ("model", "market"), registry=self.registry
        )
        self.decision_s = Histogram(
            "turnout_decision_seconds",
            "Time to pick a model.",
            buckets=DECISION_SECONDS,
            registry=self.registry,
        )
        self.ttft_s = self._histogram("turnout_time_to_first_token_seconds", "TTFT.", ("model",))
        self.duration_s = self._histogram("turnout_request_duration_seconds", "E2E.", ("model",))

    def _counter(self, name: str, about: str, labels: Sequence[str]) -> Callable[..., Counter]:
        return _children(Counter(name, about, labels, registry=self.registry))

    def _gauge(self, name: str, about: str, labels: Sequence[str]) -> Callable[..., Gauge]:
        return _children(Gauge(name, about, labels, registry=self.registry))

    def _histogram(self, name: str, about: str, labels: Sequence[str]) -> Callable[..., Histogram]:
        return _children(Histogram(name, about, labels, buckets=SECONDS, registry=self.registry))

    def families(self, gateway: str) -> list[Metric]:
        """Returns this replica's metrics, each sample labelled with the replica's id."""
        families = list(self.registry.collect())
        for family in families:
            family.samples = [
                sample._replace(labels={**sample.labels, "gateway": gateway})
                for sample in family.samples
            ]
        return families


def _children(metric: Child) -> Callable[..., Child]:
    """Returns what `labels` returns, kept: looking a child up costs more than counting."""
    return cache(metric.labels)


class _Merged:
    """A registry made of families that other replicas collected."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._by_name: dict[str, Metric] = {}
        for family in families:
            known = self._by_name.setdefault(family.name, family)
            if known is not family:
                known.samples = [*known.samples, *family.samples]

    def collect(self) -> Iterable[Metric]:
        return self._by_name.values()


def exposition(replicas: Iterable[Iterable[Metric]]) -> bytes:
    """Returns the text page of several replicas' families: the union, never a sum.

    Series stay apart by their `gateway` label, so a replica's restart resets its own counters
    only and `sum by (model) (rate(…))` is right.
    """
    families = [family for replica in replicas for family in replica]
    return generate_latest(_Merged(families))
