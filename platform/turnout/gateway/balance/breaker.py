"""One replica's circuit breaker: a pure state machine, told the time by its caller.

        dead, or several errors                   pause is over, a request is sent
CLOSED ────────────────────────► OPEN ◄──────────────────────────────► HALF_OPEN
   ▲                              │            the probe fails              │
   └──────────────────────────────┴─────────────────────────────────────────┘
                            an answer begins
"""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Literal, Self

Failure = Literal["dead", "error", "busy"]
"""`dead`: no connection, or an answer broke off. `error`: a 5xx or no answer in time. `busy`: it
takes no more for now."""


class Circuit(Enum):
    """Whether requests get through."""

    CLOSED = auto()
    OPEN = auto()
    HALF_OPEN = auto()


@dataclass(frozen=True)
class BreakerSettings:
    """How soon a breaker opens, and for how long."""

    errors_to_open: int = 3
    """Errors in a row; one dead connection is enough."""
    first_pause_s: float = 0.5
    longest_pause_s: float = 30.0
    growth: float = 2.0
    """How many times longer each pause is than the one before it."""


@dataclass(frozen=True)
class Breaker:
    """A replica's state; every event returns the next one."""

    circuit: Circuit = Circuit.CLOSED
    errors: int = 0
    """In a row."""
    opened_s: float = 0.0
    pause_s: float = 0.0

    def lets_through(self, now_s: float) -> bool:
        """Tells whether a request may be sent: one at a time after the pause, as a probe."""
        if self.circuit is Circuit.CLOSED:
            return True
        return self.circuit is Circuit.OPEN and now_s >= self.opened_s + self.pause_s

    def opens_in_s(self, now_s: float) -> float:
        """Returns how long it is until a request may be sent as a probe; 0 where one may now.

        Nobody knows how long one takes that is under way: 0, too.
        """
        if self.circuit is not Circuit.OPEN:
            return 0.0
        return max(0.0, self.opened_s + self.pause_s - now_s)

    def sent(self, now_s: float) -> Self:
        """Takes in that a request is sent; after the pause it is the probe."""
        if self.circuit is Circuit.OPEN and self.lets_through(now_s):
            return replace(self, circuit=Circuit.HALF_OPEN)
        return self

    def failed(
        self,
        failure: Failure,
        now_s: float,
        settings: BreakerSettings,
        told_s: float | None = None,
    ) -> Self:
        """Takes in a failure; those of requests sent before it opened change nothing.

        `told_s` is the pause that the replica asked for.
        """
        if self.circuit is Circuit.OPEN:
            return self
        errors = self.errors + 1
        is_probe = self.circuit is Circuit.HALF_OPEN
        if not is_probe and failure == "error" and errors < settings.errors_to_open:
            return replace(self, errors=errors)
        longer = min(self.pause_s * settings.growth, settings.longest_pause_s)
        pause_s = longer if is_probe else settings.first_pause_s
        if told_s is not None:
            pause_s = told_s
        return replace(self, circuit=Circuit.OPEN, errors=errors, opened_s=now_s, pause_s=pause_s)

    def answered(self, sent_s: float) -> "Breaker":
        """Takes in that an answer began to a request sent at `sent_s`: it must be a later one."""
        if self.circuit is not Circuit.CLOSED and sent_s < self.opened_s:
            return self
        return CLOSED if self.errors else self

    def gave_up(self) -> Self:
        """Takes in that a request ended without a word of the replica: another may probe."""
        if self.circuit is Circuit.HALF_OPEN:
            return replace(self, circuit=Circuit.OPEN)
        return self


CLOSED = Breaker()
"""A replica's that has not failed lately."""
