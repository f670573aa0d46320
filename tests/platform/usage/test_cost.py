"""True cost by hand: replica-hours at a market's price over the tokens that came of them."""

from __future__ import annotations

import pytest

from turnout.config.settings import ModelSettings
from turnout.gateway.replicas import EngineLoad, Replica
from turnout.usage.cost import (
    Capacity,
    CapacityInHour,
    Pool,
    PoolCost,
    Tokens,
    pool_costs,
    ready_since,
    summed,
)

SPOT, RESERVED = Pool("small", "spot"), Pool("small", "reserved")
HOUR = 1_700_002_800  # 2023-11-14 23:00 UTC


def small(**usd_per_replica_hour: float) -> dict[str, ModelSettings]:
    told = {"application": "a", "tier": "t", "pools": ["spot", "reserved"]}
    settings = {**told, "usd_per_replica_hour": usd_per_replica_hour}
    return {"small": ModelSettings.model_validate(settings)}


def replica(name: str, market: str = "spot", load: EngineLoad | None = None) -> Replica:
    return Replica(name, "small", market, None, 2048, load=load)


def test_two_replica_hours_at_1_80_dollars_for_three_million_output_tokens_cost_1_20_each() -> None:
    cost = PoolCost(
        SPOT, Capacity(7200, 1800, 3.60), Tokens(prompt=6_000_000, completion=3_000_000)
    )
    assert cost.usd_per_million_output_tokens == pytest.approx(1.20)
    assert cost.usd_per_million_tokens == pytest.approx(0.40)
    assert cost.capacity.idle_share == pytest.approx(0.75)


def test_a_pool_that_produced_nothing_has_a_cost_and_no_price() -> None:
    cost = PoolCost(SPOT, Capacity(3600, 0, 2.0), Tokens())
    assert cost.usd_per_million_output_tokens is None
    assert cost.usd_per_million_tokens is None
    assert cost.usd_per_token == 0
    assert cost.capacity.idle_share == 1


def test_an_embedding_pool_has_a_price_per_token_but_none_per_output_token() -> None:
    cost = PoolCost(SPOT, Capacity(3600, 3600, 2.0), Tokens(prompt=4_000_000))
    assert cost.usd_per_million_output_tokens is None
    assert cost.usd_per_million_tokens == pytest.approx(0.5)
    assert cost.capacity.idle_share == 0


def test_the_idle_share_is_unknown_where_no_replica_told() -> None:
    assert Capacity(3600, None, 1).idle_share is None
    assert Capacity().idle_share is None


def test_pools_known_to_one_side_only_are_listed() -> None:
    costs = pool_costs({SPOT: Capacity(1, 1, 1)}, {RESERVED: Tokens(2, 3)})
    assert list(costs) == [RESERVED, SPOT]
    assert costs[RESERVED].capacity.cost_usd == 0
    assert costs[SPOT].tokens == Tokens()


def test_replicas_cost_by_market_and_count_as_busy_when_their_engine_has_work() -> None:
    seen = ready_since(
        [
            replica("a", load=EngineLoad(running=1)),
            replica("b", load=EngineLoad(waiting=1)),
            replica("c", load=EngineLoad(kv_usage=0.3)),
            replica("d", market="reserved", load=EngineLoad()),
        ],
        small(spot=3600.0, reserved=36_000.0),
        (HOUR + 100, HOUR + 105),
    )
    # 15 replica-seconds at a dollar each; 5 at ten.
    assert {row.pool: row.capacity for row in seen} == {
        SPOT: Capacity(15, 10, 15.0),
        RESERVED: Capacity(5, 0, 50.0),
    }
    assert {row.hour_s for row in seen} == {HOUR}


def test_a_span_over_the_full_hour_is_cut_there() -> None:
    seen = ready_since([replica("a")], small(spot=3600), (HOUR + 3598, HOUR + 3603))
    assert [(row.hour_s, row.capacity) for row in seen] == [
        (HOUR, Capacity(2, None, 2)),
        (HOUR + 3600, Capacity(3, None, 3)),
    ]


def test_a_replica_that_has_not_told_is_idle_beside_one_that_has() -> None:
    seen = ready_since(
        [replica("new"), replica("old", load=EngineLoad(running=2))], small(), (HOUR, HOUR + 10)
    )
    assert [row.capacity for row in seen] == [Capacity(20, 10, 0)]


def test_a_market_without_a_price_and_a_model_that_was_taken_out_cost_nothing() -> None:
    for models in (small(reserved=1), {}):
        [seen] = ready_since([replica("a")], models, (HOUR, HOUR + 9))
        assert seen.capacity == Capacity(9, None, 0)


def test_sums_stay_apart_by_hour_and_pool() -> None:
    rows = [
        CapacityInHour(0, SPOT, Capacity(1, None, 10)),
        CapacityInHour(0, RESERVED, Capacity(2, 2, 20)),
        CapacityInHour(0, SPOT, Capacity(4, 3, 40)),
        CapacityInHour(3600, SPOT, Capacity(8, None, 80)),
    ]
    assert summed(rows) == [
        CapacityInHour(0, SPOT, Capacity(5, 3, 50)),
        CapacityInHour(0, RESERVED, Capacity(2, 2, 20)),
        CapacityInHour(3600, SPOT, Capacity(8, None, 80)),
    ]
