"""What a client sees of limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import httpx
from prometheus_client.metrics_core import Metric
from tests.platform.limits.worlds import caller

from turnout.access.caller import Caller, Limits
from turnout.config.settings import GatewaySettings
from turnout.gateway.app import Gateway, Governance
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.replicas import Replica
from turnout.gateway.transport import DirectTransport
from turnout.limits.memory import MemoryLimiter

MODEL = {
    "application": "small",
    "tier": "small",
    "pools": ["spot"],
    "price": {"output_usd_per_million_tokens": 1000.0},
}
NOBODY_LISTENS = "http://127.0.0.1:1"


class OneReplica:
    def replicas(self, model: str) -> Sequence[Replica]:
        return [Replica("r1", model, "spot", NOBODY_LISTENS, 2048)]


class Always:
    def __init__(self, who: Caller) -> None:
        self.who = who

    async def identify(self, headers: Mapping[bytes, bytes]) -> Caller:
        return self.who


async def no_metrics() -> Iterable[Iterable[Metric]]:
    return []


async def answer(limits: Limits, **fields: Any) -> httpx.Response:
    governance = Governance(Always(caller(limits)), MemoryLimiter())
    transport = DirectTransport(connect_timeout_s=1.0)
    gateway = Gateway(OneReplica(), transport, GatewayMetrics(), no_metrics)
    gateway.govern(governance)
    gateway.configure(GatewaySettings.model_validate({"models": {"small": MODEL}}), lambda _: 0.5)
    body = {"model": "small", "messages": [{"role": "user", "content": "hi"}], **fields}
    over = httpx.ASGITransport(app=gateway)
    try:
        async with httpx.AsyncClient(transport=over, base_url="http://gateway") as client:
            return await client.post("/v1/chat/completions", json=body)
    finally:
        await transport.close()


async def test_a_rate_that_is_used_up_is_openais_429_with_a_wait() -> None:
    refused = await answer(Limits(requests_per_minute=5, concurrent_requests=0))
    error = refused.json()["error"]
    assert refused.status_code == 429
    assert error["code"] == "rate_limit_exceeded"
    assert refused.headers["retry-after"] == "60"
    assert refused.headers["x-ratelimit-limit-requests"] == "5"
    assert refused.headers["x-ratelimit-remaining-requests"] == "5"


async def test_a_budget_that_is_spent_is_openais_insufficient_quota() -> None:
    refused = await answer(Limits(usd_per_day=0.01), max_tokens=100)
    error = refused.json()["error"]
    assert refused.status_code == 429
    assert (error["code"], error["type"]) == ("insufficient_quota", "insufficient_quota")
    assert refused.headers["x-should-retry"] == "false"


async def test_an_answer_that_is_an_error_carries_what_is_left_too() -> None:
    failed = await answer(Limits(tokens_per_minute=1000, requests_per_minute=6))
    assert failed.status_code == 503
    assert failed.headers["x-ratelimit-remaining-requests"] == "5"
    assert failed.headers["x-ratelimit-reset-requests"] == "10s"
    assert int(failed.headers["x-ratelimit-remaining-tokens"]) < 1000
