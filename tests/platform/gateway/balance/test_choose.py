"""Which replica a job goes to: worked examples."""

from __future__ import annotations

from typing import Any

import pytest

from turnout.gateway.balance.choose import Affinity, choose
from turnout.gateway.balance.job import Job
from turnout.gateway.balance.line import Line
from turnout.gateway.balance.plain import PowerOfTwo, least_requests
from turnout.gateway.balance.prefix import blocks_of
from turnout.gateway.balance.state import ReplicaState, Speed
from turnout.gateway.balance.weights import Weights
from turnout.gateway.replicas import EngineLoad, Replica

POOLS = ("reserved", "spot")
MARKETS = {"r": "reserved", "s": "spot", "o": "on_demand"}
PROMPT = "x" * 25_600  # 6,400 tokens
ALL = len(blocks_of(PROMPT))


def state(name: str, *, slower: float = 1.0, **known: Any) -> ReplicaState:
    """`r1` is a reserved replica, `s1` a spot one: 50 ms and 0.2 ms a token, then 20 ms a token."""
    replica = Replica(name, "m", MARKETS[name[0]], None, 2048, load=known.pop("load", None))
    speed = Speed(Line(0.05 * slower, 0.0002 * slower, 500), Line(0.02 * slower, 0.001 * slower, 8))
    return ReplicaState(replica, speed, **known)


def chosen(states: list[ReplicaState], job: Job | None = None, **more: Any) -> str:
    return choose(job or Job(), states, POOLS, **more).replica.id


def test_the_idle_one_of_equal_replicas_is_chosen() -> None:
    assert chosen([state("r1", requests=1), state("r2"), state("r3", requests=3)]) == "r2"


def test_a_fast_replica_gets_more_than_a_slow_one() -> None:
    """Four times faster: with 3 requests it is still sooner done than the idle slow one."""
    assert chosen([state("r1", requests=3), state("r2", slower=4)]) == "r1"
    assert chosen([state("r1", requests=90), state("r2", slower=4)]) == "r2"


def test_a_slower_replica_takes_its_part_before_the_fastest_is_as_slow_as_it() -> None:
    """With a queue of 0.8 s the fast one is done in 3.6 s against 5.5 s, but all behind it wait."""
    queued = state("r1", unread_tokens=4000)
    assert chosen([queued, state("r2", slower=2)]) == "r2"
    greedy = Weights(crowding=1, reading=1)
    assert chosen([queued, state("r2", slower=2)], weights=greedy) == "r1"


def test_long_prompts_that_wait_count_more_than_many_short_ones() -> None:
    """40,000 tokens take 8 s to read; six answers under way only slow each token by 6 ms."""
    long = state("r1", requests=1, unread_tokens=40_000)
    assert chosen([long, state("r2", requests=6)]) == "r2"


def test_what_an_engine_tells_counts_beside_our_own_requests() -> None:
    busy = state("r1", load=EngineLoad(waiting=9, running=30))
    assert chosen([busy, state("r2", requests=3)]) == "r2"


def test_requests_that_the_engine_tells_and_are_ours_count_once() -> None:
    ours = state("r1", requests=5, load=EngineLoad(waiting=0, running=5))
    assert (ours.load, ours.others) == (5, 0)
    shared = state("r1", requests=5, load=EngineLoad(waiting=2, running=6))
    assert (shared.load, shared.others, shared.others_unread) == (8, 3, 1152)


def test_a_nearly_full_kv_cache_is_avoided() -> None:
    full = state("r1", load=EngineLoad(running=1, kv_usage=0.99))
    assert chosen([full, state("r2", requests=5)]) == "r2"
    half = state("r1", load=EngineLoad(running=1, kv_usage=0.5))
    assert chosen([half, state("r2", requests=5)]) == "r1"


def test_the_same_beginning_goes_where_it_was_read_before() -> None:
    """5,000 tokens and more that need not be read are worth more than two requests there."""
    states = [state("r1", requests=2), state("r2")]
    choice = choose(Job(PROMPT), states, POOLS, Affinity({"r1": ALL}))
    assert choice.replica.id == "r1"
    assert 5000 < choice.cached_tokens <= 6400
    assert f"{choice.cached_tokens} tokens cached" in choice.because


def test_a_replica_that_has_more_than_its_share_keeps_nobody() -> None:
    """Of 13 requests on two equal replicas 1.5 times the share are 9.75: the 11th is too many."""
    job, seen = Job(PROMPT, output_tokens=1), Affinity({"r1": ALL})
    bounded = [state("r1", requests=10), state("r2", requests=2)]
    assert chosen(bounded, job, affinity=seen) == "r2"
    assert chosen(bounded, job, affinity=seen, weights=Weights(load_bound=2.0)) == "r1"
    assert chosen([state("r1", requests=8), state("r2", requests=4)], job, affinity=seen) == "r1"


def test_a_few_requests_are_no_overload_whatever_their_share() -> None:
    states = [state("r1", requests=3), state("r2"), state("r3"), state("r4")]
    assert chosen(states, Job(PROMPT, output_tokens=1), affinity=Affinity({"r1": ALL})) == "r1"


def test_a_session_stays_where_it_was() -> None:
    """Half of 4,000 tokens are taken to be cached: worth more than two requests there."""
    states = [state("r1"), state("r2", requests=2)]
    job = Job("x" * 16_000, session="s")
    assert chosen(states, job, affinity=Affinity(home="r2")) == "r2"
    assert chosen(states, Job("x" * 16_000)) == "r1"


def test_gateways_agree_on_a_new_sessions_replica_whatever_order_they_list() -> None:
    states = [state(f"r{number}") for number in range(8)]
    homes = set()
    for number in range(40):
        job = Job("x" * 4000, session=f"session {number}")
        home = chosen(states, job)
        assert chosen(states[::-1], job) == home
        homes.add(home)
    assert len(homes) > 5


def test_gateways_agree_on_a_new_prompts_replica_where_nothing_else_decides() -> None:
    states = [state(f"r{number}") for number in range(8)]
    homes = {text: chosen(states, Job(text * 300)) for text in "abcdefghijklmnop"}
    assert all(chosen(states[::-1], Job(text * 300)) == home for text, home in homes.items())
    assert len(set(homes.values())) > 3


def test_what_can_go_on_elsewhere_goes_to_spot_and_what_cannot_to_the_rest() -> None:
    states = [state("r1"), state("s1")]
    assert chosen(states, Job(is_resumable=True)) == "s1"
    assert chosen(states, Job(is_resumable=False)) == "r1"


def test_a_busy_market_is_left_for_the_other() -> None:
    assert chosen([state("r1"), state("s1", requests=9)], Job(is_resumable=True)) == "r1"
    assert chosen([state("r1", requests=60), state("s1")], Job(is_resumable=False)) == "s1"


def test_requests_that_cost_nothing_still_spread() -> None:
    """Where a batch slows nobody down, all replicas are equal: the least busy one it is."""
    flat = [state("r1", requests=2), state("r2"), state("r3", requests=1)]
    for each in flat:
        each.ttft, each.itl = (0.1, 0.0), (0.01, 0.0)
    assert chosen(flat, Job("x" * 4000)) == "r2"


def test_pool_order_settles_what_is_equal() -> None:
    states = [state("o1"), state("r1")]
    assert choose(Job(), states, ("reserved", "on_demand")).replica.id == "r1"
    assert choose(Job(), states, ("on_demand", "reserved")).replica.id == "o1"


def test_a_slow_engines_own_times_are_believed_before_ours_are_known() -> None:
    slow = state("r1", load=EngineLoad(running=8, ttft_s=4.0, itl_s=0.5))
    quick = state("r2", load=EngineLoad(running=8, ttft_s=0.1, itl_s=0.02))
    assert chosen([slow, quick]) == "r2"


def test_least_requests_takes_the_least_busy_replica_of_the_preferred_market() -> None:
    def least(*states: ReplicaState) -> str:
        return least_requests(Job(), states, POOLS).replica.id

    assert least(state("s1"), state("r1")) == "r1"
    assert least(state("s1"), state("r1", requests=1)) == "s1"
    assert least(state("r2"), state("r1")) == "r1"


def test_power_of_two_takes_the_less_busy_of_two_and_never_the_busiest_of_all() -> None:
    policy = PowerOfTwo(seed=1)
    states = [state("r1", requests=9), state("r2"), state("r3", requests=1)]
    picks = [policy(Job(), states, POOLS).replica.id for _ in range(300)]
    assert "r1" not in picks
    assert picks.count("r2") == pytest.approx(200, abs=40)  # in two of three draws
