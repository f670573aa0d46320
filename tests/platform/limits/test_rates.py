"""Requests and tokens per minute, the same in memory and in Valkey."""

from tests.platform.limits.worlds import World, caller

from turnout.access.caller import Limits


async def test_a_caller_without_limits_is_always_granted(world: World) -> None:
    for _ in range(50):
        granted = await world.granted(caller(), tokens=10**9, cost_usd=1e6)
    assert granted.headers == {}


async def test_the_requests_of_a_minute_are_granted_and_the_next_waits(world: World) -> None:
    who = caller(Limits(requests_per_minute=3))
    left = [(await world.granted(who)).headers["x-ratelimit-remaining-requests"] for _ in range(3)]
    refused = await world.refused(who)
    assert left == ["2", "1", "0"]
    assert (refused.reason, refused.retry_after_s) == ("requests", 20.0)
    assert refused.message == (
        "this key may use 3 requests per minute; 0 left, and this request needs about 1; "
        "try again in 20s"
    )


async def test_after_the_told_wait_it_is_granted_and_a_millisecond_before_it_is_not(
    world: World,
) -> None:
    who = caller(Limits(tokens_per_minute=7))
    await world.granted(who, tokens=7)
    wait_ms = round((await world.refused(who, tokens=3)).retry_after_s * 1000)
    assert wait_ms == 25_715  # 3/7 of a minute, 25,714.28 ms
    await world.pass_ms(wait_ms - 1)
    assert (await world.refused(who, tokens=3)).retry_after_s == 0.001
    await world.pass_ms(1)
    await world.granted(who, tokens=3)


async def test_a_refusal_tells_milliseconds_for_clients_that_read_them(world: World) -> None:
    who = caller(Limits(tokens_per_minute=60))
    await world.granted(who, tokens=60)
    assert (await world.refused(who, tokens=5)).headers == {
        "retry-after-ms": "5000",
        "x-ratelimit-limit-tokens": "60",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1m0s",
    }


async def test_tokens_that_were_not_used_come_back(world: World) -> None:
    who = caller(Limits(tokens_per_minute=100))
    await world.settle(await world.granted(who, tokens=100), tokens=30)
    await world.granted(who, tokens=70)
    await world.refused(who, tokens=1)


async def test_an_underestimate_is_paid_by_later_requests(world: World) -> None:
    who = caller(Limits(tokens_per_minute=60))
    await world.settle(await world.granted(who, tokens=10), tokens=90)
    refused = await world.refused(who, tokens=1)
    assert refused.retry_after_s == 31.0  # 30 below zero, and one token
    assert refused.headers["x-ratelimit-remaining-tokens"] == "0"


async def test_a_request_counts_even_if_it_used_nothing(world: World) -> None:
    who = caller(Limits(requests_per_minute=1))
    await world.settle(await world.granted(who))
    await world.refused(who)


async def test_settling_twice_changes_nothing(world: World) -> None:
    who = caller(Limits(tokens_per_minute=100, concurrent_requests=2))
    granted = await world.granted(who, tokens=40)
    running = await world.granted(who, tokens=60)
    await world.settle(granted, tokens=40)
    await world.settle(granted, tokens=0)
    await world.refused(who, tokens=1)
    await world.settle(running, tokens=0)
    await world.granted(who, tokens=60)


async def test_a_bucket_never_holds_more_than_a_minute(world: World) -> None:
    who = caller(Limits(tokens_per_minute=100))
    granted = await world.granted(who, tokens=50)
    await world.pass_ms(10 * 60_000)
    await world.settle(granted, tokens=0)
    await world.granted(who, tokens=100)
    await world.refused(who, tokens=1)


async def test_a_claim_above_a_whole_minute_can_never_fit_and_is_told_so(world: World) -> None:
    who = caller(Limits(tokens_per_minute=100))
    refused = await world.refused(who, tokens=101)
    assert refused.reason == "tokens"
    assert refused.message.startswith("request too large: this key may use 100 tokens per minute")
    assert refused.headers["x-should-retry"] == "false"
    await world.granted(who, tokens=100)


async def test_a_limit_of_zero_grants_nothing(world: World) -> None:
    assert "never" in (await world.refused(caller(Limits(requests_per_minute=0)))).message
    assert "never" in (await world.refused(caller(Limits(concurrent_requests=0)))).message
    assert "never" in (await world.refused(caller(Limits(tokens_per_minute=0)), 1)).message


async def test_a_refusal_takes_nothing_of_any_limit(world: World) -> None:
    """The key has room, its team has not: the key's room stays."""
    key, team = Limits(tokens_per_minute=100), Limits(tokens_per_minute=60)
    await world.granted(caller(key, team), tokens=60)
    refused = await world.refused(caller(key, team), tokens=40)
    assert refused.message.startswith("team 'search' may use 60 tokens per minute; 0 left")
    await world.granted(caller(key), tokens=40)


async def test_keys_of_a_team_share_its_limit_and_each_has_its_own(world: World) -> None:
    key, team = Limits(requests_per_minute=2), Limits(requests_per_minute=3)
    one, two = caller(key, team, "k1"), caller(key, team, "k2")
    await world.granted(one)
    await world.granted(one)
    assert "this key" in (await world.refused(one)).message
    await world.granted(two)
    assert "team 'search'" in (await world.refused(two)).message


async def test_a_key_and_a_team_of_the_same_name_have_accounts_of_their_own(world: World) -> None:
    limit = Limits(requests_per_minute=1)
    await world.granted(caller(key=limit, name="search"))
    await world.granted(caller(team=limit))


async def test_headers_are_those_of_the_tighter_of_key_and_team(world: World) -> None:
    key = Limits(requests_per_minute=60, tokens_per_minute=600)
    team = Limits(requests_per_minute=6000, tokens_per_minute=60)
    granted = await world.granted(caller(key, team), tokens=6)
    assert granted.headers == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "60",
        "x-ratelimit-remaining-tokens": "54",
        "x-ratelimit-reset-tokens": "6s",
    }


async def test_of_several_limits_the_one_with_the_longest_wait_speaks(world: World) -> None:
    who = caller(Limits(requests_per_minute=1, tokens_per_minute=60))
    await world.granted(who, tokens=10)
    assert (await world.refused(who, tokens=60)).reason == "requests"


async def test_a_lowered_limit_holds_at_once(world: World) -> None:
    await world.granted(caller(Limits(tokens_per_minute=1000)), tokens=1)
    await world.refused(caller(Limits(tokens_per_minute=100)), tokens=101)
    await world.granted(caller(Limits(tokens_per_minute=100)), tokens=100)


async def test_a_clock_that_is_set_back_stops_nobody(world: World) -> None:
    who = caller(Limits(requests_per_minute=60))
    for _ in range(60):
        await world.granted(who)
    await world.pass_ms(-3_600_000)
    await world.refused(who)
    await world.pass_ms(1_000)
    await world.granted(who)
