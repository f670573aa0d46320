"""When a second replica is asked because the first is late. Pure, but for the counts."""

from collections import deque

ENOUGH = 50
"""TTFTs from which a p95 says something."""
KEPT = 500
_EVERY = 25
LATE = 0.95
BURST = 10.0
"""Hedges that may go at once after a quiet time."""


class Hedges:
    """The p95 of a model's recent times to first token, and the budget of second requests."""

    def __init__(self) -> None:
        self._ttfts: deque[float] = deque(maxlen=KEPT)
        self._since = 0
        self._late_s: float | None = None
        self._left = 0.0

    def request(self, share: float) -> None:
        """Counts a request: each adds its share to the budget."""
        self._left = min(BURST, self._left + share)

    def learn(self, ttft_s: float) -> None:
        """Takes in a time to first token."""
        self._ttfts.append(ttft_s)
        self._since += 1
        if len(self._ttfts) >= ENOUGH and (self._late_s is None or self._since >= _EVERY):
            self._since = 0
            self._late_s = sorted(self._ttfts)[int(LATE * len(self._ttfts))]

    @property
    def late_s(self) -> float | None:
        """Seconds after which a first token is late; None while too little is known."""
        return self._late_s if self._left >= 1 else None

    def take(self) -> bool:
        """Tells whether a second request may go now, and counts it if so."""
        if self._left < 1:
            return False
        self._left -= 1
        return True
