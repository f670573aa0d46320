"""How much may be sent to an upstream in a minute, so that it need not refuse. Pure."""

MINUTE_S = 60.0
SHORTEST_S = 1e-3
"""Less than this is not worth a wait; it is rounding, too."""


class Rate:
    """A bucket that holds a minute's worth and fills steadily."""

    def __init__(self, per_minute: float, now_s: float) -> None:
        self._most = self._left = per_minute
        self._seen_s = now_s

    def wait_s(self, amount: float, now_s: float) -> float:
        """Returns how long it takes until so much may be sent; 0 where it may now.

        More than a minute's worth waits for a full bucket.
        """
        self._fill(now_s)
        lacking = min(amount, self._most) - self._left
        return max(0.0, lacking / self._most * MINUTE_S)

    def take(self, amount: float) -> None:
        """Counts what is sent."""
        self._left -= amount

    def _fill(self, now_s: float) -> None:
        filled = (now_s - self._seen_s) / MINUTE_S * self._most
        self._left = min(self._most, self._left + filled)
        self._seen_s = now_s


class Rates:
    """The rates of one upstream: of requests and of tokens, where it has them."""

    def __init__(self, requests: int | None, tokens: int | None, now_s: float) -> None:
        """Takes what is allowed in a minute; None is no limit."""
        self._requests = None if requests is None else Rate(requests, now_s)
        self._tokens = None if tokens is None else Rate(tokens, now_s)

    def wait_s(self, tokens: int, gateways: int, now_s: float) -> float:
        """Takes a request with so many tokens out of the rates: returns 0, or how long to wait.

        Each of several gateways counts its own requests as many times: it has its share.
        """
        wanted = [
            (rate, amount * gateways)
            for rate, amount in ((self._requests, 1), (self._tokens, tokens))
            if rate is not None
        ]
        wait_s = max((rate.wait_s(amount, now_s) for rate, amount in wanted), default=0.0)
        if wait_s > SHORTEST_S:
            return wait_s
        for rate, amount in wanted:
            rate.take(amount)
        return 0.0
