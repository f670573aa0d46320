from __future__ import annotations

import pytest

from turnout.access.caller import Caller, Denied, Limits
from turnout.access.known import Memory, both, entry_of, judge
from turnout.access.secret import hashed, new_key
from turnout.store.keys import Key, Team

KEY_ID, TEXT = new_key()
TEAM = Team("search", None, Limits(usd_per_month=900.0), 0.0)


def _key(**changes: object) -> Key:
    plain: dict[str, object] = {
        **{"id": KEY_ID, "team": "search", "name": "n", "secret_hash": hashed(TEXT)},
        **{"scopes": frozenset({"inference", "usage"}), "models": None},
        **{"limits": Limits(requests_per_minute=60), "created_at_s": 0.0},
    }
    return Key(**{**plain, **changes})  # type: ignore[arg-type]


def _judged(at_s: float = 100.0, text: str = TEXT, **changes: object) -> Caller | Denied:
    return judge(entry_of((_key(**changes), TEAM), 0.0), text, at_s)


def test_the_caller_carries_the_keys_and_the_teams_limits_and_scopes() -> None:
    assert _judged() == Caller(
        key_id=KEY_ID,
        team="search",
        scopes=frozenset({"inference", "usage"}),
        models=None,
        key_limits=Limits(requests_per_minute=60),
        team_limits=Limits(usd_per_month=900.0),
    )


@pytest.mark.parametrize(
    ("team", "key", "together"),
    [
        (None, None, None),
        ({"a", "b"}, None, {"a", "b"}),
        (None, {"b"}, {"b"}),
        ({"a", "b"}, {"b", "c"}, {"b"}),
        ({"a"}, {"b"}, set()),
    ],
)
def test_a_key_may_use_what_both_it_and_its_team_may(
    team: set[str] | None, key: set[str] | None, together: set[str] | None
) -> None:
    frozen = [None if models is None else frozenset(models) for models in (team, key)]
    assert both(*frozen) == together


def test_a_key_works_until_the_moment_it_expires() -> None:
    assert isinstance(_judged(99.9, expires_at_s=100.0), Caller)
    assert _judged(100.0, expires_at_s=100.0) == Denied("this key has expired")


def test_a_revoked_key_is_denied() -> None:
    assert _judged(revoked_at_s=50.0) == Denied("this key was revoked")


def test_whoever_guesses_an_id_learns_nothing_about_its_key() -> None:
    guess = TEXT[:-64] + "0" * 64
    unknown = judge(entry_of(None, 0.0), TEXT, 100.0)
    assert unknown == Denied("this key is not known here")
    assert _judged(text=guess) == unknown
    assert _judged(text=guess, revoked_at_s=1.0) == unknown
    assert _judged(text=guess, expires_at_s=1.0) == unknown


def test_memory_forgets_what_was_used_least_recently() -> None:
    memory = Memory(2)
    for key_id in ("a", "b"):
        memory.put(key_id, entry_of((_key(id=key_id), TEAM), 0.0))
    memory.get("a")
    memory.put("c", entry_of((_key(id="c"), TEAM), 0.0))
    assert [memory.get(key_id) is not None for key_id in ("a", "b", "c")] == [True, False, True]


def test_a_flood_of_unknown_ids_stays_bounded_and_drives_no_known_key_out() -> None:
    memory = Memory(10)
    memory.put("known", entry_of((_key(), TEAM), 0.0))
    for number in range(1000):
        memory.put(f"unknown-{number}", entry_of(None, 0.0))
    assert memory.get("known") is not None
    assert len(memory) == 11


def test_an_id_that_got_a_key_is_no_longer_unknown() -> None:
    memory = Memory(10)
    memory.put("a", entry_of(None, 0.0))
    memory.put("a", entry_of((_key(id="a"), TEAM), 1.0))
    entry = memory.get("a")
    assert entry is not None
    assert entry.key is not None
    assert len(memory) == 1
