"""Whatever happens in whatever order: never too much is granted, and both keep the same account."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.platform.limits.worlds import MemoryWorld, RedisWorld, World, caller

from turnout.access.caller import Limits
from turnout.limits.claim import Refusal, Reservation

ANY_PACE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
SOME = settings(max_examples=30, deadline=None, suppress_health_check=ANY_PACE)
MANY = settings(SOME, max_examples=80)
TOKENS, REQUESTS, PLACES, BUDGET = 60, 5, 3, 1.0
KEY = Limits(tokens_per_minute=TOKENS, concurrent_requests=PLACES, usd_per_day=BUDGET)
TEAM = Limits(requests_per_minute=REQUESTS, tokens_per_minute=2 * TOKENS, usd_per_month=2 * BUDGET)
CALLERS = [caller(KEY, TEAM, "k1"), caller(KEY, TEAM, "k2")]

reserves = st.tuples(
    st.just("reserve"), st.integers(0, 1), st.integers(0, TOKENS), st.integers(0, 40)
)
settles = st.tuples(
    st.just("settle"), st.integers(0, 9), st.integers(0, 2 * TOKENS), st.integers(0, 60)
)
waits = st.tuples(
    st.just("wait"), st.one_of(st.integers(0, 30_000), st.sampled_from([60_000, 43_200_000]))
)
histories = st.lists(st.one_of(reserves, settles, waits), min_size=1, max_size=25)
Act = tuple[Any, ...]
Outcome = Reservation | Refusal | None


async def play(world: World, history: Sequence[Act]) -> list[tuple[int, Act, Outcome, Any]]:
    """Returns what happened: when, what, its outcome, and the reservation that a settle ends."""
    open_ones: list[Reservation] = []
    happened: list[tuple[int, Act, Outcome, Any]] = []
    for act in history:
        outcome, ended = None, None
        if act[0] == "reserve":
            outcome = await world.reserve(CALLERS[act[1]], act[2], act[3] / 100)
            if isinstance(outcome, Reservation):
                open_ones.append(outcome)
        elif act[0] == "settle" and open_ones:
            ended = open_ones.pop(act[1] % len(open_ones))
            await world.settle(ended, act[2], act[3] / 100)
        elif act[0] == "wait":
            await world.pass_ms(act[1])
        happened.append((world.now_ms, act, outcome, ended))
    return happened


def run(
    new_world: Callable[[], World], plays: Callable[[World], Awaitable[list[Any]]]
) -> list[Any]:
    async def whole() -> list[Any]:
        world = new_world()
        try:
            return await plays(world)
        finally:
            await world.close()

    return asyncio.run(whole())


@pytest.fixture(params=["memory", "redis"])
def new_world(request: pytest.FixtureRequest, on_a_tests_clock: None) -> Callable[[], World]:
    if request.param == "memory":
        return MemoryWorld
    url = request.getfixturevalue("valkey_url")
    return lambda: RedisWorld(url)


@SOME
@given(history=histories)
def test_in_no_window_more_is_granted_than_a_bucket_and_its_refill(
    new_world: Callable[[], World], history: list[Act]
) -> None:
    """Net of what was given back in the window, and with what was taken on top."""
    happened = run(new_world, lambda world: play(world, history))
    for subject in ("k1", "k2", "search"):
        tokens, requests = changes(happened, subject)
        capacity = 2 * TOKENS if subject == "search" else TOKENS
        assert never_above(tokens, capacity)
        if subject == "search":
            assert never_above(requests, REQUESTS)


def changes(happened: list[Any], subject: str) -> tuple[list[Any], list[Any]]:
    """Returns a subject's tokens and requests as (time, taken, is a grant)."""
    tokens, requests = [], []
    for now_ms, act, outcome, ended in happened:
        who = (outcome if isinstance(outcome, Reservation) else ended) or None
        if who is None or subject not in (who.caller.key_id, who.caller.team):
            continue
        if ended is None:
            tokens.append((now_ms, act[2], True))
            requests.append((now_ms, 1, True))
        else:
            tokens.append((now_ms, act[2] - ended.claim.tokens, False))
    return tokens, requests


def never_above(taken: list[tuple[int, int, bool]], per_minute: int) -> bool:
    for first, (since_ms, _, _) in enumerate(taken):
        total = 0
        for now_ms, amount, is_grant in taken[first:]:
            total += amount
            most = per_minute + Fraction(per_minute * (now_ms - since_ms), 60_000)
            if is_grant and total > most:
                return False
    return True


@SOME
@given(history=histories)
def test_no_more_requests_run_than_there_are_places(
    new_world: Callable[[], World], history: list[Act]
) -> None:
    running = {"k1": 0, "k2": 0}
    for _, _, outcome, ended in run(new_world, lambda world: play(world, history)):
        if isinstance(outcome, Reservation):
            running[outcome.caller.key_id] += 1
            assert running[outcome.caller.key_id] <= PLACES
        elif ended is not None:
            running[ended.caller.key_id] -= 1


@SOME
@given(history=histories)
def test_nothing_is_granted_beyond_a_budget(
    new_world: Callable[[], World], history: list[Act]
) -> None:
    """Cents of each day, by the day a request came in."""
    spent: dict[tuple[str, int], int] = {}
    days: dict[int, tuple[str, int]] = {}
    for now_ms, act, outcome, ended in run(new_world, lambda world: play(world, history)):
        if isinstance(outcome, Reservation):
            day = (outcome.caller.key_id, now_ms // 86_400_000)
            spent[day] = spent.get(day, 0) + act[3]
            assert spent[day] <= 100
            days[id(outcome)] = day
        elif ended is not None:
            spent[days[id(ended)]] += act[3] - round(ended.claim.cost_usd * 100)


@SOME
@given(history=histories, taken=st.integers(0, TOKENS), wait_ms=st.integers(0, 90_000))
def test_a_claim_that_is_settled_with_nothing_leaves_no_trace(
    new_world: Callable[[], World], history: list[Act], taken: int, wait_ms: int
) -> None:
    """Tokens, places and dollars are then as they were; only the request itself counts."""
    who = caller(KEY, Limits(), "k1")
    probe = ("reserve", 0, 1, 1)

    async def asks(world: World, *, between: bool) -> list[Any]:
        await play(world, [act for act in history if act[0] != "reserve" or act[1] == 0])
        if between:
            outcome = await world.reserve(who, taken, 0.01)
            if isinstance(outcome, Reservation):
                await world.settle(outcome)
        await world.pass_ms(wait_ms)
        [(_, _, outcome, _)] = await play_key_only(world, probe)
        return [told(outcome)]

    without = run(new_world, lambda world: asks(world, between=False))
    assert run(new_world, lambda world: asks(world, between=True)) == without


async def play_key_only(world: World, act: Act) -> list[Any]:
    outcome = await world.reserve(caller(KEY, Limits(), "k1"), act[2], act[3] / 100)
    return [(world.now_ms, act, outcome, None)]


def told(outcome: Outcome) -> Any:
    """Returns what a caller is told."""
    if isinstance(outcome, Refusal):
        return outcome
    return outcome and dict(outcome.headers)


@MANY
@given(history=histories)
def test_memory_and_valkey_answer_the_same_to_the_unit(
    valkey_url: str, on_a_tests_clock: None, history: list[Act]
) -> None:
    in_memory = run(MemoryWorld, lambda world: play(world, history))
    in_valkey = run(lambda: RedisWorld(valkey_url), lambda world: play(world, history))
    assert [told(each[2]) for each in in_memory] == [told(each[2]) for each in in_valkey]


def test_the_claim_of_a_refusal_is_granted_after_its_wait(
    new_world: Callable[[], World],
) -> None:
    @SOME
    @given(taken=st.lists(st.integers(1, TOKENS), max_size=6), wanted=st.integers(1, TOKENS))
    def holds(taken: list[int], wanted: int) -> None:
        async def plays(world: World) -> list[Any]:
            who = caller(Limits(tokens_per_minute=TOKENS, requests_per_minute=7))
            for tokens in taken:
                await world.reserve(who, tokens)
            outcome = await world.reserve(who, wanted)
            if isinstance(outcome, Refusal):
                wait_ms = round(outcome.retry_after_s * 1000)
                await world.pass_ms(wait_ms - 1)
                await world.refused(who, wanted)
                await world.pass_ms(1)
                await world.granted(who, wanted)
            return []

        run(new_world, plays)

    holds()
