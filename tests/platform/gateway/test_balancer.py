"""The balancer keeps what it learns: worked through with a clock of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from turnout.gateway.balance.breaker import BreakerSettings
from turnout.gateway.balancer import FORGOTTEN_AFTER_S, Balancer, Job
from turnout.gateway.replicas import EngineLoad, Replica

POOLS = ("reserved", "spot")


def replica(name: str, **more: Any) -> Replica:
    market = "spot" if name.startswith("s") else "reserved"
    return Replica(name, "m", market, None, 2048, **more)


R1, R2, R3 = replica("r1"), replica("r2"), replica("r3")


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def balancer(clock: Clock) -> Balancer:
    return Balancer(clock=clock, breaker=BreakerSettings(first_pause_s=1.0))


def choose(balancer: Balancer, *replicas: Replica, job: Job | None = None, **more: Any) -> str:
    chosen = balancer.choose(job or Job(), replicas, POOLS, **more)
    return chosen.id if chosen else "none"


def answer(
    balancer: Balancer, clock: Clock, on: Replica, ttft_s: float, itl_s: float, tokens: int = 11
) -> None:
    """One request from its sending to its end."""
    job = Job("x" * 400)
    balancer.begin(on, job)
    clock.now_s += ttft_s
    balancer.answered(on, ttft_s, job)
    clock.now_s += itl_s * (tokens - 1)
    balancer.end(on, job, tokens)


def test_a_replica_that_nobody_has_tried_is_taken_to_be_as_fast_as_the_others_are_now(
    balancer: Balancer, clock: Clock
) -> None:
    slow_at_first = replica("r2", load=EngineLoad(0, 0, ttft_s=1.5, itl_s=0.4))
    assert choose(balancer, R1, slow_at_first) == "r1"
    for _ in range(5):
        answer(balancer, clock, R1, ttft_s=0.05, itl_s=0.01)
    balancer.begin(R1, Job())
    assert choose(balancer, R1, slow_at_first) == "r2"
    answer(balancer, clock, slow_at_first, ttft_s=2.0, itl_s=0.5)  # so it is slow
    answer(balancer, clock, R1, ttft_s=0.05, itl_s=0.01)
    assert choose(balancer, R1, slow_at_first) == "r1"


def test_a_replica_that_was_slow_a_while_ago_is_tried_again(
    balancer: Balancer, clock: Clock
) -> None:
    balancer.begin(R1, Job())  # runs on: with equal speeds the idle one is better
    answer(balancer, clock, R2, ttft_s=9.0, itl_s=0.5)
    for _ in range(20):
        answer(balancer, clock, R1, ttft_s=0.05, itl_s=0.01)
    assert choose(balancer, R1, R2) == "r1"
    clock.now_s += 45.0
    choose(balancer, R1, R2)
    answer(balancer, clock, R1, ttft_s=0.05, itl_s=0.01)
    assert choose(balancer, R1, R2) == "r2"


def test_requests_spread_over_equal_replicas(balancer: Balancer) -> None:
    sent: Counter[str] = Counter()
    for _ in range(30):
        job = Job()
        chosen = balancer.choose(job, (R1, R2, R3), POOLS)
        assert chosen is not None
        balancer.begin(chosen, job)
        sent[chosen.id] += 1
    assert max(sent.values()) - min(sent.values()) <= 2


def test_a_replica_that_runs_all_it_can_is_taken_only_where_all_do(balancer: Balancer) -> None:
    """The first is by far the quickest, but has two places only."""
    quick, slow = replica("r1", max_running=2), replica("r2", max_running=3)
    for at, ttft_s in ((quick, 0.01), (slow, 5.0)):
        for _ in range(5):
            balancer.begin(at, job := Job())
            balancer.answered(at, ttft_s, job)
            balancer.end(at, job)
    chosen, jobs = [], [Job() for _ in range(6)]
    for job in jobs:
        found = balancer.choose(job, (quick, slow), POOLS)
        assert found is not None
        balancer.begin(found, job)
        chosen.append(found.id)
    assert sorted(chosen[:5]) == ["r1", "r1", "r2", "r2", "r2"]
    assert len(chosen) == 6
    assert not balancer.has_place(quick)
    for name, job in zip(chosen, jobs, strict=True):
        balancer.end(quick if name == "r1" else slow, job)
    assert balancer.has_place(quick)


def test_what_begins_is_counted_until_it_ends(balancer: Balancer) -> None:
    one, two = Job("x" * 4000), Job("y" * 4000)
    balancer.begin(R1, one)
    balancer.begin(R1, two)
    balancer.begin(R2, one)  # a hedge: the same job elsewhere
    assert balancer.running == 3
    balancer.end(R1, one)
    balancer.end(R2, one)
    balancer.answered(R1, 0.1, two)
    balancer.end(R1, two, 5)
    assert balancer.running == 0
    state = balancer.state("r1")
    assert state is not None
    assert (state.requests, state.unread_tokens) == (0, 0)


def test_an_end_without_a_begin_changes_nothing(balancer: Balancer) -> None:
    balancer.end(R1, Job())
    balancer.answered(R1, 1.0)
    balancer.failed(R1)
    assert balancer.running == 0


def test_draining_replicas_get_nothing_new_even_when_no_other_is_left(balancer: Balancer) -> None:
    draining = replica("r2", is_draining=True)
    assert {choose(balancer, R1, draining) for _ in range(5)} == {"r1"}
    assert choose(balancer, draining) == "none"


def test_replicas_that_were_tried_or_are_of_other_pools_are_left_out(balancer: Balancer) -> None:
    assert choose(balancer, R1, R2, tried={"r1"}) == "r2"
    assert choose(balancer, R1, tried={"r1"}) == "none"
    elsewhere = Replica("o1", "m", "on_demand", None, 2048)
    assert choose(balancer, elsewhere) == "none"


def test_the_replica_that_answers_sooner_gets_the_next_request(
    balancer: Balancer, clock: Clock
) -> None:
    assert {choose(balancer, R1, R2)} <= {"r1", "r2"}
    for _ in range(5):
        answer(balancer, clock, R1, ttft_s=2.0, itl_s=0.1)
        answer(balancer, clock, R2, ttft_s=0.2, itl_s=0.01)
    assert choose(balancer, R1, R2) == "r2"
    for _ in range(40):
        answer(balancer, clock, R2, ttft_s=9.0, itl_s=0.5)
    assert choose(balancer, R1, R2) == "r1"


def test_a_new_replica_is_taken_to_be_as_fast_as_its_kind(balancer: Balancer, clock: Clock) -> None:
    """Else it would be flooded: a guess of milliseconds against a CPU's seconds."""
    for _ in range(5):
        answer(balancer, clock, R1, ttft_s=3.0, itl_s=0.3)
    choose(balancer, R1, R2)
    known, new = balancer.state("r1"), balancer.state("r2")
    assert known is not None
    assert new is not None
    assert new.per_s == pytest.approx(known.per_s)


def test_a_prompt_goes_where_its_beginning_was_sent(balancer: Balancer) -> None:
    system = "You are a helpful clerk of the railway. " * 200
    job = Job(system + "first")
    first = balancer.choose(job, (R1, R2, R3), POOLS)
    assert first is not None
    balancer.begin(first, job)
    balancer.answered(first, 0.5, job)
    assert choose(balancer, R1, R2, R3, job=Job(system + "second")) == first.id
    other_team = balancer.choice(Job(system + "second", salt="other"), (R1, R2, R3), POOLS)
    assert other_team is not None
    assert other_team.cached_tokens == 0


def test_a_session_stays_with_its_replica_whatever_its_prompt(balancer: Balancer) -> None:
    job = Job("a" * 9000, session="s")
    first = balancer.choose(job, (R1, R2, R3), POOLS)
    assert first is not None
    balancer.begin(first, job)
    balancer.end(first, job)
    assert choose(balancer, R1, R2, R3, job=Job("b" * 9000, session="s")) == first.id
    # with its replica gone it moves, and stays where it went
    left = [each for each in (R1, R2, R3) if each is not first]
    moved = balancer.choose(Job("c" * 9000, session="s"), left, POOLS)
    assert moved in left


def test_a_dead_replica_is_out_at_once_and_back_after_a_probe(
    balancer: Balancer, clock: Clock
) -> None:
    choose(balancer, R1, R2)
    balancer.failed(R1)
    assert {choose(balancer, R1, R2) for _ in range(5)} == {"r2"}
    clock.now_s += 1.0
    job = Job()
    assert choose(balancer, R1, job=job) == "r1"
    balancer.begin(R1, job)
    assert choose(balancer, R1, R2) == "r2"  # the probe is under way
    balancer.answered(R1, 0.05, job)
    balancer.end(R1, job)
    for _ in range(9):
        balancer.begin(R2, Job())
    assert choose(balancer, R1, R2) == "r1"


def test_errors_take_a_replica_out_after_three_in_a_row(balancer: Balancer) -> None:
    choose(balancer, R1, R2)
    for _ in range(5):
        balancer.begin(R2, Job(prompt="x"))
    for _ in range(2):
        balancer.failed(R1, "error")
    assert choose(balancer, R1, R2) == "r1"
    balancer.failed(R1, "error")
    assert choose(balancer, R1, R2) == "r2"


def test_an_open_replica_is_chosen_when_nothing_else_is_left(balancer: Balancer) -> None:
    choose(balancer, R1, R2)
    balancer.failed(R1)
    balancer.failed(R2)
    assert choose(balancer, R1, R2, tried={"r2"}) == "r1"
    assert choose(balancer, R1, R2) in {"r1", "r2"}


def test_an_answer_in_one_piece_closes_the_breaker_and_teaches_no_ttft(
    balancer: Balancer, clock: Clock
) -> None:
    choose(balancer, R1, R2)
    state = balancer.state("r1")
    assert state is not None
    before = state.per_s
    balancer.failed(R1)
    clock.now_s += 1.0
    job = Job()
    balancer.begin(R1, job)
    clock.now_s += 30.0
    balancer.answered(R1, None, job)
    balancer.end(R1, job, 500)
    assert state.breaker.lets_through(clock.now_s)
    assert state.per_s == before


def test_the_answer_without_a_job_is_the_oldest_that_waits(balancer: Balancer) -> None:
    long, short = Job("x" * 40_000), Job("x" * 40)
    balancer.begin(R1, long)
    balancer.begin(R1, short)
    balancer.answered(R1, 0.5)
    state = balancer.state("r1")
    assert state is not None
    assert state.unread_tokens < 200  # the short one's


def test_what_other_gateways_send_is_known_from_the_engine(balancer: Balancer) -> None:
    busy = replica("r1", load=EngineLoad(waiting=5, running=16))
    assert choose(balancer, busy, R2) == "r2"
    idle_again = replica("r1", load=EngineLoad())
    balancer.begin(R2, Job())
    assert choose(balancer, idle_again, R2) == "r1"


def test_replicas_that_left_the_table_are_forgotten(balancer: Balancer, clock: Clock) -> None:
    for number in range(200):
        choose(balancer, replica(f"r{number}"), R2)
        clock.now_s += FORGOTTEN_AFTER_S / 20
    assert len(balancer._states) < 60
    assert balancer.state("r2") is not None
