from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from turnout.access.caller import Caller, Denied, Limits
from turnout.access.directory import Directory
from turnout.access.secret import new_key
from turnout.config.settings import AccessSettings
from turnout.store.keys import Team

Ask = Callable[[str], Awaitable[Caller | Denied]]
IMPATIENT = AccessSettings(fresh_s=5, stale_s=3600, lookup_timeout_s=0.2)
NOT_NOW = Denied("keys cannot be checked now", is_temporary=True)


async def _settled(fake: Any) -> None:
    """Lets background work run until it makes no more queries."""
    before = -1
    while before != len(fake.queries):
        before = len(fake.queries)
        for _ in range(20):
            await asyncio.sleep(0)


async def test_a_key_of_the_store_is_its_callers(fake: Any, ask: Ask) -> None:
    caller = await ask(fake.new_key())
    assert isinstance(caller, Caller)
    assert caller.team == "search"


async def test_a_request_without_a_key_asks_nobody(fake: Any, directory: Directory) -> None:
    assert await directory.identify({}) == Denied("no key was sent")
    assert fake.queries == []


async def test_text_that_is_no_key_asks_nobody(fake: Any, ask: Ask) -> None:
    assert isinstance(await ask("sk-proj-anything"), Denied)
    assert fake.queries == []


async def test_a_fresh_key_is_answered_from_memory(fake: Any, ask: Ask) -> None:
    key = fake.new_key()
    for _ in range(100):
        await ask(key)
    assert len(fake.queries) == 1


async def test_requests_with_one_new_key_at_a_time_ask_once(fake: Any, ask: Ask) -> None:
    key = fake.new_key()
    answers = await asyncio.gather(*(ask(key) for _ in range(50)))
    assert all(isinstance(answer, Caller) for answer in answers)
    assert len(fake.queries) == 1


async def test_a_revocation_holds_once_the_key_is_no_longer_fresh(fake: Any, ask: Ask) -> None:
    key = fake.new_key()
    await ask(key)
    fake.change(key, revoked_at_s=fake.now_s)
    fake.now_s += 5.0
    assert await ask(key) == Denied("this key was revoked")


async def test_a_busy_key_is_asked_for_again_in_the_background(fake: Any, ask: Ask) -> None:
    key = fake.new_key()
    await ask(key)
    fake.change(key, limits=Limits(requests_per_minute=7))
    fake.now_s += 2.6
    caller = await ask(key)
    assert isinstance(caller, Caller)
    assert caller.key_limits == Limits()  # not waited for
    await _settled(fake)
    fake.now_s += 0.1
    caller = await ask(key)
    assert isinstance(caller, Caller)
    assert caller.key_limits == Limits(requests_per_minute=7)
    assert len(fake.queries) == 2


async def test_what_a_slow_query_brings_is_as_old_as_its_question(fake: Any, ask: Ask) -> None:
    key = fake.new_key()
    fake.gate = asyncio.Event()
    first = asyncio.ensure_future(ask(key))
    await _settled(fake)
    fake.change(key, revoked_at_s=fake.now_s)  # after the query read the key
    fake.now_s += 4.9
    fake.gate.set()
    assert isinstance(await first, Caller)
    fake.now_s += 0.2
    assert await ask(key) == Denied("this key was revoked")


async def test_a_teams_change_holds_for_its_keys(fake: Any, ask: Ask) -> None:
    key = fake.new_key(models=frozenset({"small", "large"}))
    await ask(key)
    fake.teams["search"] = Team("search", frozenset({"small"}), Limits(usd_per_day=3.0), 0.0)
    fake.now_s += 5.0
    caller = await ask(key)
    assert isinstance(caller, Caller)
    assert caller.models == frozenset({"small"})
    assert caller.team_limits == Limits(usd_per_day=3.0)


async def test_known_keys_keep_working_while_the_store_is_down(fake: Any, ask: Ask) -> None:
    key = fake.new_key()
    await ask(key)
    fake.fails = ConnectionRefusedError()
    for _ in range(10):
        fake.now_s += 300.0
        assert isinstance(await ask(key), Caller)


async def test_a_known_key_stops_working_once_it_is_too_stale(fake: Any, ask: Ask) -> None:
    key = fake.new_key()
    await ask(key)
    fake.fails = ConnectionRefusedError()
    fake.now_s += 3601.0
    assert await ask(key) == NOT_NOW


async def test_a_known_key_never_outlives_its_expiry_while_the_store_is_down(
    fake: Any, ask: Ask
) -> None:
    key = fake.new_key(expires_at_s=fake.now_s + 60.0)
    await ask(key)
    fake.fails = ConnectionRefusedError()
    fake.now_s += 59.0
    assert isinstance(await ask(key), Caller)
    fake.now_s += 1.0
    assert await ask(key) == Denied("this key has expired")


async def test_an_unknown_key_is_put_off_while_the_store_is_down(fake: Any, ask: Ask) -> None:
    key = fake.new_key()
    fake.fails = ConnectionRefusedError()
    assert await ask(key) == NOT_NOW


async def test_a_key_found_missing_is_put_off_too_once_that_is_old(fake: Any, ask: Ask) -> None:
    """It may have been made since."""
    _, key = new_key()
    assert await ask(key) == Denied("this key is not known here")
    fake.fails = ConnectionRefusedError()
    fake.now_s += 5.0
    assert await ask(key) == NOT_NOW


async def test_a_store_that_is_down_is_asked_once_a_second_at_most(fake: Any, ask: Ask) -> None:
    known = fake.new_key()
    await ask(known)
    fake.fails = ConnectionRefusedError()
    fake.now_s += 10.0
    before = len(fake.queries)
    for _ in range(100):
        await ask(known)
        await ask(new_key()[1])
        await _settled(fake)
    assert len(fake.queries) == before + 1
    fake.now_s += 1.0
    await ask(known)
    await _settled(fake)
    assert len(fake.queries) == before + 2


async def test_the_store_coming_back_is_noticed(fake: Any, ask: Ask) -> None:
    known, new = fake.new_key(), fake.new_key()
    await ask(known)
    fake.fails = ConnectionRefusedError()
    fake.now_s += 10.0
    await ask(known)
    fake.fails = None
    fake.change(known, revoked_at_s=fake.now_s)
    fake.now_s += 1.0
    assert isinstance(await ask(new), Caller)
    await ask(known)
    await _settled(fake)
    assert await ask(known) == Denied("this key was revoked")


async def test_a_store_that_hangs_holds_up_no_known_key(
    fake: Any, directory: Directory, ask: Ask
) -> None:
    key = fake.new_key()
    await ask(key)
    directory.configure(IMPATIENT)
    fake.gate = asyncio.Event()
    fake.now_s += 10.0
    assert isinstance(await ask(key), Caller)  # waits for the timeout, this once
    for _ in range(100):
        fake.now_s += 0.001
        work = asyncio.ensure_future(ask(key))
        await asyncio.sleep(0)
        assert work.done()  # answered without waiting for anything
        assert isinstance(work.result(), Caller)


async def test_hanging_queries_do_not_pile_up(fake: Any, directory: Directory, ask: Ask) -> None:
    directory.configure(IMPATIENT)
    fake.gate = asyncio.Event()
    hung = fake.gate.wait

    async def deaf() -> bool:
        """Ignores being cancelled, as a thread in the database's driver does."""
        while not fake.gate.is_set():
            try:
                return bool(await hung())
            except asyncio.CancelledError:
                continue
        return True

    fake.gate.wait = deaf
    for _ in range(12):
        assert await ask(new_key()[1]) == NOT_NOW
        fake.now_s += 2.0
    assert len(fake.queries) == 4
    fake.gate.set()


async def test_a_thousand_wrong_keys_cost_a_bounded_number_of_queries(fake: Any, ask: Ask) -> None:
    answers = await asyncio.gather(*(ask(new_key()[1]) for _ in range(1000)))
    assert set(answers) == {Denied("this key is not known here")}
    assert len(fake.queries) <= 5  # 256 ids in each


async def test_a_wrong_key_sent_again_is_not_asked_for_again(fake: Any, ask: Ask) -> None:
    _, key = new_key()
    for _ in range(100):
        await ask(key)
    assert len(fake.queries) == 1


async def test_wrong_secrets_for_a_known_id_ask_nobody(fake: Any, ask: Ask) -> None:
    key = fake.new_key()
    await ask(key)
    for number in range(100):
        wrong = f"{key[:-64]}{number:064x}"
        assert await ask(wrong) == Denied("this key is not known here")
    assert len(fake.queries) == 1


async def test_known_keys_are_found_amid_a_flood_of_wrong_ones(fake: Any, ask: Ask) -> None:
    flood = [asyncio.ensure_future(ask(new_key()[1])) for _ in range(500)]
    assert isinstance(await ask(fake.new_key()), Caller)
    await asyncio.gather(*flood)


async def test_new_settings_hold_for_keys_that_are_known(
    fake: Any, directory: Directory, ask: Ask
) -> None:
    key = fake.new_key()
    await ask(key)
    fake.change(key, revoked_at_s=fake.now_s)
    directory.configure(AccessSettings(fresh_s=1.0))
    fake.now_s += 1.0
    assert await ask(key) == Denied("this key was revoked")


@pytest.mark.parametrize("leaves", [1, 2, 3])
async def test_a_client_that_leaves_takes_no_other_clients_answer_along(
    fake: Any, ask: Ask, leaves: int
) -> None:
    key = fake.new_key()
    fake.gate = asyncio.Event()
    asks = [asyncio.ensure_future(ask(key)) for _ in range(4)]
    await _settled(fake)
    for gone in asks[:leaves]:
        gone.cancel()
    fake.gate.set()
    answers = await asyncio.gather(*asks[leaves:])
    assert all(isinstance(answer, Caller) for answer in answers)
