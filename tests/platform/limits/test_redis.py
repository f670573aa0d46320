"""What several gateway replicas share in a Valkey, on its own clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import redis
from tests.platform.limits.worlds import SETTINGS, Past, caller

from turnout.access.caller import Limits
from turnout.config.settings import LimiterSettings
from turnout.limits import scripts
from turnout.limits.alerts import BudgetAlert
from turnout.limits.amounts import Subject, payers_of
from turnout.limits.claim import Claim, Refusal, Reservation
from turnout.limits.periods import Periods
from turnout.limits.redis import RedisLimiter

NewReplica = Callable[..., RedisLimiter]


@pytest.fixture
def valkey(valkey_url: str) -> Any:
    with redis.Redis.from_url(valkey_url) as client:
        client.flushall()
        yield client


@pytest.fixture
async def new_replica(valkey_url: str, valkey: Any) -> AsyncIterator[NewReplica]:
    async with AsyncExitStack() as stack:

        def start(settings: LimiterSettings = SETTINGS, **more: Any) -> RedisLimiter:
            limiter = RedisLimiter(valkey_url, settings, **more)
            stack.push_async_callback(limiter.close)
            return limiter

        yield start


async def written(limiter: RedisLimiter) -> None:
    while limiter.unsettled:
        await asyncio.sleep(0.001)


async def test_replicas_share_one_account(new_replica: NewReplica) -> None:
    who = caller(Limits(concurrent_requests=7), Limits(requests_per_minute=1000))
    replicas = [new_replica() for _ in range(3)]
    claims = [replica.reserve(who, Claim(1, 0)) for replica in replicas for _ in range(20)]
    outcomes = await asyncio.gather(*claims)
    assert sum(isinstance(outcome, Reservation) for outcome in outcomes) == 7


async def test_one_replica_uses_what_another_gave_back(new_replica: NewReplica) -> None:
    who = caller(Limits(tokens_per_minute=6, concurrent_requests=1))
    one, two = new_replica(), new_replica()
    granted = await one.reserve(who, Claim(6, 0))
    assert isinstance(granted, Reservation)
    one.settle(granted, Claim(0, 0))
    await written(one)
    assert isinstance(await two.reserve(who, Claim(6, 0)), Reservation)


async def test_the_store_is_asked_by_one_replica_for_all(new_replica: NewReplica) -> None:
    past = Past({"key:k1": 0.5})
    who = caller(Limits(usd_per_day=1.0))
    one, two = (new_replica(spent_usd=past.spent_usd) for _ in range(2))
    assert isinstance(await one.reserve(who, Claim(0, 0.4)), Reservation)
    assert isinstance(await two.reserve(who, Claim(0, 0.2)), Refusal)
    assert len(past.asked) == 1


async def test_a_budget_alert_is_given_by_one_replica(new_replica: NewReplica) -> None:
    alerts: list[BudgetAlert] = []
    who = caller(Limits(usd_per_month=1.0))
    replicas = [new_replica(on_alert=alerts.append) for _ in range(2)]
    for replica in replicas * 2:
        granted = await replica.reserve(who, Claim(0, 0.2))
        if isinstance(granted, Reservation):
            replica.settle(granted, Claim(0, 0.45))
            await written(replica)
    assert [(alert.period, alert.spent_usd) for alert in alerts] == [("month", 0.9)]


async def test_time_is_the_servers(new_replica: NewReplica) -> None:
    """A replica whose clock is a day off keeps the same account."""
    who = caller(Limits(requests_per_minute=1, usd_per_day=1.0))
    right, wrong = new_replica(), new_replica(clock=lambda: 1.0e9)
    assert isinstance(await right.reserve(who, Claim(0, 0.9)), Reservation)
    refused = await wrong.reserve(who, Claim(0, 0.9))
    assert isinstance(refused, Refusal)
    assert refused.reason == "budget"


async def test_the_places_of_a_replica_that_died_come_back(new_replica: NewReplica) -> None:
    who = caller(Limits(concurrent_requests=1))
    dies, lives = new_replica(LimiterSettings(redis_timeout_s=30, lease_s=1)), new_replica()
    assert isinstance(await dies.reserve(who, Claim(0, 0)), Reservation)
    assert isinstance(await lives.reserve(who, Claim(0, 0)), Refusal)
    await dies.close()
    while isinstance(await lives.reserve(who, Claim(0, 0)), Refusal):
        await asyncio.sleep(0.05)


async def test_a_running_request_keeps_its_place_beyond_a_lease(
    new_replica: NewReplica, valkey: Any
) -> None:
    who = caller(Limits(concurrent_requests=1))
    replica = new_replica(LimiterSettings(redis_timeout_s=30, lease_s=1))
    assert isinstance(await replica.reserve(who, Claim(0, 0)), Reservation)
    leases = scripts.leases_key(Subject("key", "k1"))
    [(_, until_ms)] = valkey.zrange(leases, 0, -1, withscores=True)
    for _ in range(2000):
        [(_, renewed_ms)] = valkey.zrange(leases, 0, -1, withscores=True) or [(None, 0)]
        if renewed_ms > until_ms + 1500:
            break
        await asyncio.sleep(0.01)
    assert renewed_ms > until_ms + 1500
    assert isinstance(await replica.reserve(who, Claim(0, 0)), Refusal)


async def test_keys_of_callers_are_ids_and_lie_on_one_node_of_a_cluster(
    new_replica: NewReplica, valkey: Any
) -> None:
    who = caller(Limits(requests_per_minute=9, usd_per_day=1), Limits(concurrent_requests=9))
    granted = await (replica := new_replica()).reserve(who, Claim(1, 0.1))
    assert isinstance(granted, Reservation)
    replica.settle(granted, Claim(1, 0.1))
    await written(replica)
    names = [name.decode() for name in valkey.keys("*")]
    assert all("{limits}" in name for name in names)
    assert "turnout:{limits}:key:k1" in names


async def test_everything_in_valkey_expires(new_replica: NewReplica, valkey: Any) -> None:
    who = caller(Limits(requests_per_minute=9, usd_per_day=1), Limits(concurrent_requests=9))
    replica = new_replica()
    granted = await replica.reserve(who, Claim(1, 0.1))
    await replica.reserve(who, Claim(1, 0.1))
    assert isinstance(granted, Reservation)
    replica.settle(granted, Claim(1, 0.1))
    await written(replica)
    assert {valkey.ttl(name) > 0 for name in valkey.keys("*")} == {True}


async def test_a_grant_whose_answer_is_lost_is_taken_back(
    new_replica: NewReplica, valkey: Any
) -> None:
    """The caller leaves while the claim is on its way."""
    who = caller(Limits(concurrent_requests=1, tokens_per_minute=6, usd_per_day=1.0))
    replica = new_replica()
    claim = asyncio.create_task(replica.reserve(who, Claim(6, 1.0)))
    await asyncio.sleep(0)
    valkey.client_pause(300)
    await asyncio.sleep(0.05)
    claim.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claim
    await written(replica)
    assert isinstance(await replica.reserve(who, Claim(6, 1.0)), Reservation)


async def test_a_settlement_that_is_delivered_twice_counts_once(
    new_replica: NewReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent again when its answer does not come."""
    who, sent = caller(Limits(usd_per_day=1.0)), list[scripts.Settlement]()
    replica = new_replica()
    granted = await replica.reserve(who, Claim(0, 0.1))
    assert isinstance(granted, Reservation)
    monkeypatch.setattr(replica._behind, "send", sent.append)
    replica.settle(granted, Claim(0, 0.4))
    await replica._accounts.settle(sent)
    await replica._accounts.settle(sent)
    refused = await replica.reserve(who, Claim(0, 1.0))
    assert isinstance(refused, Refusal)
    assert "$0.6 left" in refused.message


async def test_a_claim_that_arrives_after_it_was_given_up_is_not_granted(
    new_replica: NewReplica, valkey: Any
) -> None:
    replica, who = new_replica(), caller(Limits(concurrent_requests=1))
    payers = payers_of(who)
    lost = scripts.Settlement("late", "release", payers, Periods(0, 0))
    await replica._accounts.settle([lost])
    with pytest.raises(TimeoutError):
        await replica._accounts.reserve("late", payers, (0, 0), 1000, asks_first=False)
    assert isinstance(await replica.reserve(who, Claim(0, 0)), Reservation)
