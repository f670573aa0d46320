"""When a request may be sent again, and how soon. Pure, but for the counts."""

from collections import deque

RETRIED_STATUSES = frozenset((500, 502, 503, 504))
"""An engine that answers so has failed; another may not. A 4xx is the request's own fault."""
WINDOW_S = 10.0
FIRST_DELAY_S, LONGEST_DELAY_S = 0.02, 0.25


class RetryBudget:
    """Lets so many retries through as a share of recent requests, and a few at any time.

    After Finagle's: with every request sent twice when replicas fail, those that are left would
    fail, too. Counted in seconds, over the last ten.
    """

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, int, int]] = deque()

    def request(self, now_s: float) -> None:
        """Counts a request."""
        self._count(now_s, 1, 0)

    def take(self, now_s: float, share: float, floor_per_s: float) -> bool:
        """Tells whether a retry may go now, and counts it if so."""
        self._count(now_s, 0, 0)
        requests = sum(second[1] for second in self._seconds)
        retries = sum(second[2] for second in self._seconds)
        if retries >= requests * share + floor_per_s * WINDOW_S:
            return False
        self._count(now_s, 0, 1)
        return True

    def _count(self, now_s: float, requests: int, retries: int) -> None:
        second = int(now_s)
        while self._seconds and self._seconds[0][0] <= second - WINDOW_S:
            self._seconds.popleft()
        if self._seconds and self._seconds[-1][0] == second:
            _, more, others = self._seconds.pop()
            requests, retries = requests + more, retries + others
        self._seconds.append((second, requests, retries))


def delay_s(failures: int, chance: float) -> float:
    """Returns how long to wait after so many failures; `chance` is 0 to 1 ("full jitter")."""
    return chance * min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** (failures - 1))
