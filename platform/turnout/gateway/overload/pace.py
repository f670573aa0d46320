"""How long requests keep their places and wait for first tokens, learned as they go. Pure."""

PLACE_WEIGHT = 0.05
FIRST_WEIGHT, DEVIATION_WEIGHT = 1 / 8, 1 / 4
"""As RFC 6298 smooths round-trip times and their deviation."""
MARGIN = 2
HALF_LIFE_S = 5.0
"""What was learned of first tokens is believed half as much after so long without another one:
else a slow one would have all requests with a deadline refused, and no faster one be seen."""


class Pace:
    """Of one model as this gateway sees it; 0 until something was learned."""

    def __init__(self) -> None:
        self.place_s = 0.0
        """Mean time that a request keeps its place."""
        self.last_first_s = 0.0
        """What was expected of first tokens when one was learned last: never less than now."""
        self._deviation_s = self._learned_s = 0.0

    def left(self, place_s: float) -> None:
        """Takes in how long a request kept its place."""
        if self.place_s:
            self.place_s += PLACE_WEIGHT * (place_s - self.place_s)
        else:
            self.place_s = place_s

    def began(self, first_s: float, now_s: float) -> None:
        """Takes in how long a request that had its place waited for its first token."""
        if self._learned_s:
            off_s = abs(first_s - self.last_first_s)
            self._deviation_s += DEVIATION_WEIGHT * (off_s - self._deviation_s)
            self.last_first_s += FIRST_WEIGHT * (first_s - self.last_first_s)
        else:
            self.last_first_s, self._deviation_s = first_s, first_s / 2
        self._learned_s = now_s

    def first_s(self, now_s: float) -> float:
        """Returns the expected time from getting a place to the first token."""
        return self.last_first_s * self._belief(now_s)

    def first_at_most_s(self, now_s: float) -> float:
        """Returns that time with a margin: few take longer."""
        return (self.last_first_s + MARGIN * self._deviation_s) * self._belief(now_s)

    def _belief(self, now_s: float) -> float:
        return float(0.5 ** ((now_s - self._learned_s) / HALF_LIFE_S))
