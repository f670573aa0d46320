"""The limiter that settings ask for, and its question to the database."""

from collections.abc import Mapping

from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.config.settings import LimiterSettings
from turnout.errors import TurnoutError
from turnout.limits.alerts import OnAlert, log_alert
from turnout.limits.amounts import Subject
from turnout.limits.claim import Limiter
from turnout.limits.memory import MemoryLimiter
from turnout.limits.past import SpentUsd, nothing_spent
from turnout.limits.redis import RedisLimiter
from turnout.store.usage import spent_usd

REDIS_URL = "REDIS_URL"


class NoRedisUrl(TurnoutError):
    """Limits are to be kept in Redis, and nothing says where it is."""

    def __str__(self) -> str:
        return (
            f"limiter.backend is 'redis', but the environment variable {REDIS_URL} is not set: set "
            "it to an address such as redis://host:6379/0 (it may hold a password, so it is no "
            "setting), or set limiter.backend to 'memory'"
        )


def spending_in(store: AsyncEngine) -> SpentUsd:
    """Returns what asks a database for the spending of a key or a team."""

    async def asked(subject: Subject, since_s: float) -> float:
        if subject.kind == "team":
            return await spent_usd(store, since_s=since_s, team=subject.name)
        return await spent_usd(store, since_s=since_s, key_id=subject.name)

    return asked


def build(
    settings: LimiterSettings,
    environment: Mapping[str, str],
    spent: SpentUsd = nothing_spent,
    on_alert: OnAlert = log_alert,
) -> Limiter:
    """Returns the limiter; raises `NoRedisUrl`, or ValueError where that address is no address."""
    if settings.backend == "memory":
        return MemoryLimiter(settings, spent, on_alert)
    url = environment.get(REDIS_URL)
    if not url:
        raise NoRedisUrl
    return RedisLimiter(url, settings, spent, on_alert)
