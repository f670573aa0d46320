"""The router's judgement of a request: difficulty for the decision, length for its reservation."""

from turnout_router.router import Estimate, Router


class Judge:
    """Asks the router once for a text, also where both are wanted."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._last: tuple[str, Estimate] | None = None

    def difficulty(self, text: str) -> float:
        """Returns P(the smaller model's answer is good enough)."""
        return self._of(text).difficulty

    def output_tokens(self, text: str) -> int:
        """Returns the median of the answer's predicted tokens."""
        return self._of(text).length.p50

    def _of(self, text: str) -> Estimate:
        """Both are asked for right after another, so the last text is the one to remember."""
        if self._last is None or self._last[0] is not text:
            self._last = text, self._router.estimate(text)
        return self._last[1]
