"""What one key or team has used: two buckets, running requests, spending of a day and a month.

Times are milliseconds since 1970 and come with every call. No I/O, no clock.
"""

from dataclasses import dataclass, field

from turnout.limits.amounts import UNIT, Amounts, Payer
from turnout.limits.periods import Period, Periods


@dataclass(slots=True)
class Spending:
    """Dollars (billionths) of one period, reserved ones included."""

    since_ms: int
    spent: int = 0
    is_known: bool = False
    """Whether what was spent before we began to count is in it."""
    has_alerted: bool = False

    def learn(self, told: int, own: int) -> None:
        """Takes in what the store knows; it may hold some of `own`, ours when it was asked."""
        self.spent += max(told, own) - own
        self.is_known = True


@dataclass(slots=True)
class Tally:
    """The account of one key or team, with what it may use as last seen."""

    payer: Payer
    at_ms: int
    """When the levels were right."""
    requests: int | None = None
    """Level of the bucket in units; None is full. Below zero it is a debt."""
    tokens: int | None = None
    running: int = 0
    spending: dict[Period, Spending] = field(default_factory=dict)

    def advance(self, now_ms: int, periods: Periods) -> None:
        """Brings the account to a moment: buckets refill, days and months begin anew."""
        capacity = self.payer.capacity
        past_ms = max(0, now_ms - self.at_ms)
        self.at_ms = now_ms
        self.requests = refilled(self.requests, capacity.requests, past_ms)
        self.tokens = refilled(self.tokens, capacity.tokens, past_ms)
        self._begin("day", capacity.day, periods.day)
        self._begin("month", capacity.month, periods.month)

    def _begin(self, period: Period, budget: int | None, since_ms: int) -> None:
        if budget is None:
            self.spending.pop(period, None)
            return
        spending = self.spending.get(period)
        if spending is None:
            self.spending[period] = Spending(since_ms)
        elif spending.since_ms < since_ms:  # counted from its first moment on
            self.spending[period] = Spending(since_ms, is_known=True)

    @property
    def is_known(self) -> bool:
        """Whether all that was spent in its periods is in it."""
        return all(spending.is_known for spending in self.spending.values())

    def room(self) -> Amounts:
        """Returns what is left of every limit."""
        _, _, running, day, month = self.payer.capacity
        return Amounts(
            self.requests,
            self.tokens,
            None if running is None else running - self.running,
            None if day is None else day - self.spending["day"].spent,
            None if month is None else month - self.spending["month"].spent,
        )

    def take(self, tokens: int, cost: int) -> None:
        """Reserves one request with its tokens (units) and cost."""
        self.running += 1
        if self.requests is not None:
            self.requests -= UNIT
        if self.tokens is not None:
            self.tokens -= tokens
        for spending in self.spending.values():
            spending.spent += cost

    def correct(self, tokens: int, cost: int, reserved_in: Periods) -> None:
        """Ends a request that used so much more (or less, below zero) than it had reserved.

        Cost counts for the day and month it was reserved in. `advance` comes first.
        """
        self.running -= 1
        capacity = self.payer.capacity.tokens
        if self.tokens is not None and capacity is not None:
            self.tokens = min(capacity, self.tokens - tokens)
        for period, spending in self.spending.items():
            if spending.since_ms == getattr(reserved_in, period):
                spending.spent += cost

    def is_forgettable(self, now_ms: int) -> bool:
        """Whether dropping the account changes nothing but budgets, which the store knows."""
        rested = now_ms - self.at_ms >= UNIT
        in_debt = min(self.requests or 0, self.tokens or 0) < 0
        return self.running == 0 and rested and not in_debt


def refilled(level: int | None, capacity: int | None, past_ms: int) -> int | None:
    """Returns a bucket's level after some time; one that is new is full."""
    if capacity is None or level is None:
        return capacity
    return min(capacity, level + past_ms * (capacity // UNIT))
