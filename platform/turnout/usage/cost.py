"""What tokens truly cost: the pools' node-hours over the tokens they produced. Pure.

A pool (a model in one market) costs replica-hours times the market's price per replica-hour,
whether its replicas work or idle. Over a range of whole hours

    usd_per_million_output_tokens = cost / completion tokens * 1e6
    usd_per_million_tokens        = cost / (prompt + completion tokens) * 1e6
    idle_share                    = 1 - busy replica-seconds / ready replica-seconds

A replica is busy at a moment when its engine has a request running or waiting; one that has not
told counts as idle, but where no replica told anything the idle share is unknown.

A group's true cost is the sum over pools of its tokens (prompt and completion) times the pool's
cost per token, so the true costs of all groups add up to what the pools that answered anything
cost; a pool that answered nothing is shown with its cost and with no price.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from turnout.config.settings import Market, ModelSettings
from turnout.gateway.replicas import EngineLoad, Replica

HOUR_S = 3600


@dataclass(frozen=True)
class Pool:
    """The replicas of one model in one market."""

    model: str
    market: str


@dataclass(frozen=True)
class Capacity:
    """What a pool had ready in some time, and what that cost."""

    replica_s: float = 0.0
    busy_s: float | None = None
    """None where no replica told whether it had work."""
    cost_usd: float = 0.0

    def __add__(self, more: "Capacity") -> "Capacity":
        told = [each.busy_s for each in (self, more) if each.busy_s is not None]
        busy_s = sum(told) if told else None
        return Capacity(self.replica_s + more.replica_s, busy_s, self.cost_usd + more.cost_usd)

    @property
    def idle_share(self) -> float | None:
        """Share of the ready replicas' time without any request."""
        if self.busy_s is None or not self.replica_s:
            return None
        return 1 - self.busy_s / self.replica_s


@dataclass(frozen=True)
class Tokens:
    """Tokens a pool worked on."""

    prompt: int = 0
    completion: int = 0

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


@dataclass(frozen=True)
class PoolCost:
    """What a pool's tokens truly cost in some time."""

    pool: Pool
    capacity: Capacity
    tokens: Tokens

    @property
    def usd_per_million_output_tokens(self) -> float | None:
        """Idle time included; None where it produced nothing."""
        return _per_million(self.capacity.cost_usd, self.tokens.completion)

    @property
    def usd_per_million_tokens(self) -> float | None:
        """Over prompt and completion tokens; None where it worked on none."""
        return _per_million(self.capacity.cost_usd, self.tokens.total)

    @property
    def usd_per_token(self) -> float:
        """What a group pays for each of its tokens, prompt or completion."""
        return self.capacity.cost_usd / self.tokens.total if self.tokens.total else 0.0


def _per_million(cost_usd: float, tokens: int) -> float | None:
    return cost_usd / tokens * 1e6 if tokens else None


def pool_costs(
    capacity: Mapping[Pool, Capacity], tokens: Mapping[Pool, Tokens]
) -> dict[Pool, PoolCost]:
    """Returns every pool that was ready or worked: one may be known to one side only."""
    pools = sorted({*capacity, *tokens}, key=lambda pool: (pool.model, pool.market))
    return {
        pool: PoolCost(pool, capacity.get(pool, Capacity()), tokens.get(pool, Tokens()))
        for pool in pools
    }


@dataclass(frozen=True)
class CapacityInHour:
    """A pool's capacity in one UTC hour."""

    hour_s: int
    pool: Pool
    capacity: Capacity


def ready_since(
    replicas: Iterable[Replica],
    models: Mapping[str, ModelSettings],
    span_s: tuple[float, float],
) -> list[CapacityInHour]:
    """Counts replicas as what they are now for a whole span of time, cut at full hours."""
    rows = []
    for replica in replicas:
        pool = Pool(replica.model, replica.market)
        usd_per_hour = _price(models.get(replica.model), replica.market)
        for hour_s, seconds in _hours(*span_s):
            busy_s = None if replica.load is None else seconds * _has_work(replica.load)
            cost_usd = seconds / HOUR_S * usd_per_hour
            rows.append(CapacityInHour(hour_s, pool, Capacity(seconds, busy_s, cost_usd)))
    return summed(rows)


def summed(rows: Iterable[CapacityInHour]) -> list[CapacityInHour]:
    """Adds up rows of the same hour and pool."""
    sums: dict[tuple[int, Pool], Capacity] = {}
    for row in rows:
        key = (row.hour_s, row.pool)
        sums[key] = sums[key] + row.capacity if key in sums else row.capacity
    return [CapacityInHour(hour_s, pool, capacity) for (hour_s, pool), capacity in sums.items()]


def _has_work(load: EngineLoad) -> bool:
    return load.running + load.waiting > 0


def _price(model: ModelSettings | None, market: str) -> float:
    prices: Mapping[Market, float] = model.usd_per_replica_hour if model else {}
    return next((price for name, price in prices.items() if name == market), 0.0)


def _hours(from_s: float, to_s: float) -> Sequence[tuple[int, float]]:
    """Cuts a span at full hours: the hour's start and the seconds in it."""
    parts = []
    while from_s < to_s:
        hour_s = int(from_s // HOUR_S) * HOUR_S
        end_s = min(to_s, hour_s + HOUR_S)
        parts.append((hour_s, end_s - from_s))
        from_s = end_s
    return parts
