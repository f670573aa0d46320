"""The metrics page: counts worked out by hand, and several gateways side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.parser import text_string_to_metric_families
from tests.platform.gateway.system import CHAT, COMPLETIONS

from turnout.gateway.metrics import GatewayMetrics, exposition

if TYPE_CHECKING:
    from tests.platform.gateway.fake_engine import FakeEngine
    from tests.platform.gateway.system import System


async def test_a_sessions_counts_are_those_counted_by_hand(
    system: System, small: FakeEngine
) -> None:
    await system.chat()  # 11 + 4 tokens
    await system.chat(stream=True, n=2)  # 11 + 8
    await system.chat("auto", stream=True)  # easy: small, 11 + 4
    await system.chat("auto", messages=[{"role": "user", "content": "hard"}])  # large, 11 + 4
    await system.post({"model": "small", "prompt": "x"}, COMPLETIONS)  # 11 + 4
    await system.chat("nobody")
    await system.client.get(CHAT)
    small.answer = (500, b"{}")
    await system.chat()
    expected = {
        ("turnout_requests_total", "small", "200"): 4,
        ("turnout_requests_total", "small", "500"): 1,
        ("turnout_requests_total", "large", "200"): 1,
        ("turnout_requests_total", "none", "404"): 1,
        ("turnout_requests_total", "none", "405"): 1,
    }
    for (name, model, status), count in expected.items():
        assert await system.metric(name, model=model, status=status) == count
    chats = await system.metric("turnout_requests_total", endpoint="chat")
    assert (chats, await system.metric("turnout_requests_total")) == (7, 8)
    tokens = {(m, k): 0.0 for m in ("small", "large") for k in ("prompt", "completion")}
    for model, kind in tokens:
        tokens[model, kind] = await system.metric("turnout_tokens_total", model=model, kind=kind)
    assert list(tokens.values()) == [44, 20, 11, 4]
    assert await system.metric("turnout_decisions_total", asked="auto", model="small") == 1
    assert await system.metric("turnout_decisions_total", asked="auto", model="large") == 1
    assert await system.metric("turnout_decisions_total", asked="named", model="small") == 4
    assert await system.metric("turnout_decision_seconds_count") == 6
    assert await system.metric("turnout_time_to_first_token_seconds_count") == 2  # the streams
    assert await system.metric("turnout_request_duration_seconds_count") == 5
    assert await system.metric("turnout_replica_failures_total") == 1  # the 500


async def test_ready_replicas_are_counted_as_they_are_now(system: System) -> None:
    assert await system.metric("turnout_replicas_ready", model="small", market="reserved") == 1
    assert await system.metric("turnout_replicas_ready", model="small", market="spot") == 0
    del system.table.by_model["large"]
    assert await system.metric("turnout_replicas_ready", model="large") == 0


async def test_the_page_says_its_format(system: System) -> None:
    answer = await system.client.get("/metrics")
    assert answer.headers["content-type"] == CONTENT_TYPE_LATEST


def test_several_gateways_stand_side_by_side() -> None:
    one, two = GatewayMetrics(), GatewayMetrics()
    one.requests("chat", "small", "200").inc(3)
    two.requests("chat", "small", "200").inc(4)
    one.ttft_s("small").observe(0.2)
    two.in_flight("large").set(5)
    page = exposition([one.families("a"), two.families("b")]).decode()
    samples = {
        (sample.name, sample.labels["gateway"]): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if "bucket" not in sample.name and "created" not in sample.name
    }
    assert samples["turnout_requests_total", "a"] == 3
    assert samples["turnout_requests_total", "b"] == 4
    assert samples["turnout_time_to_first_token_seconds_count", "a"] == 1
    assert samples["turnout_requests_in_flight", "b"] == 5
    assert page.count("# TYPE turnout_requests_total counter") == 1


def test_collecting_twice_changes_nothing() -> None:
    metrics = GatewayMetrics()
    metrics.requests("chat", "small", "200").inc()
    pages = [exposition([metrics.families("a")]) for _ in range(2)]
    assert pages[0] == pages[1]
    assert b'gateway="a"' in pages[0]


@pytest.mark.parametrize("count", [0, 1])
def test_a_page_of_few_gateways_is_valid(count: int) -> None:
    page = exposition([GatewayMetrics().families("a")] * count).decode()
    names = {family.name for family in text_string_to_metric_families(page)}
    assert ("turnout_decision_seconds" in names) is bool(count)
