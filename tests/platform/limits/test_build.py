import pickle
from pathlib import Path

import pytest

from turnout.config.settings import LimiterSettings
from turnout.limits.amounts import Subject
from turnout.limits.build import NoRedisUrl, build, spending_in
from turnout.limits.memory import MemoryLimiter
from turnout.limits.redis import RedisLimiter
from turnout.store.engine import open_store
from turnout.store.migrate import migrate
from turnout.store.usage import insert_usage
from turnout.usage.record import UsageRecord


async def test_limits_are_kept_in_memory_unless_settings_say_otherwise() -> None:
    url = {"REDIS_URL": "redis://127.0.0.1:1"}
    assert isinstance(build(LimiterSettings(), url), MemoryLimiter)
    shared = build(LimiterSettings(backend="redis"), url)
    assert isinstance(shared, RedisLimiter)
    await shared.close()


def test_without_an_address_of_redis_the_error_says_what_to_set() -> None:
    with pytest.raises(NoRedisUrl, match="REDIS_URL is not set") as raised:
        build(LimiterSettings(backend="redis"), {})
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def record(name: str, at_s: float, team: str, key_id: str, cost_usd: float) -> UsageRecord:
    return UsageRecord(
        id=name,
        at_s=at_s,
        team=team,
        key_id=key_id,
        endpoint="chat",
        model="small",
        market="spot",
        status=200,
        list_cost_usd=cost_usd,
    )


async def test_past_spending_is_what_the_database_has_of_a_key_or_a_team(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'turnout.db'}")
    try:
        await migrate(store)
        await insert_usage(
            store,
            [
                record("before", 999.0, "search", "k1", 8.0),
                record("mine", 1000.0, "search", "k1", 1.0),
                record("a colleague's", 1001.0, "search", "k2", 2.0),
                record("another team's", 1002.0, "ads", "k3", 4.0),
            ],
        )
        spent = spending_in(store)
        assert await spent(Subject("key", "k1"), 1000.0) == 1.0
        assert await spent(Subject("team", "search"), 1000.0) == 3.0
    finally:
        await store.dispose()
