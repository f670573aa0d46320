"""How a server tells an app at once that its client has left, without a task that waits for it."""

from collections.abc import Callable

DEPARTURE = "turnout.departure"
"""Where in a request's scope its `Departure` is, of servers that have one."""


class Departure:
    """The moment when a request's client leaves, before its answer is whole."""

    def __init__(self) -> None:
        self._has_happened = False
        self._then: Callable[[], None] | None = None

    def then(self, call: Callable[[], None] | None) -> None:
        """Has `call` called at that moment, now where it has passed; None calls nothing."""
        self._then = call
        if call is not None and self._has_happened:
            call()

    def happen(self) -> None:
        """Is that moment."""
        self._has_happened = True
        if self._then is not None:
            self._then()
