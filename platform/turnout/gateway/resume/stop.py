"""Stop strings across a seam: finds them as vLLM does, where one replica's text meets the next's.

vLLM holds back as many characters as the beginning of a stop string could have, unless the stop
string is to be part of the answer. The scanner does the same. Pure.
"""

from collections.abc import Sequence


class StopScanner:
    """Takes text as it is generated and gives text as it may be sent."""

    def __init__(
        self, stops: Sequence[str], *, keeps_stop: bool, sent: str = "", held: str = ""
    ) -> None:
        """`sent` is what the client has, `held` what was generated and not sent yet."""
        self._stops = [stop for stop in stops if stop]
        self._keeps_stop = keeps_stop
        self._reach = max((len(stop) for stop in self._stops), default=1) - 1
        self._sent = _last(sent, self._reach)
        self._held = held
        self.matched: str | None = None
        """The stop string that ended the answer."""

    def feed(self, text: str) -> str:
        """Returns what may be sent now that this text was generated."""
        seen = len(self._sent) + len(self._held)
        window = self._sent + self._held + text
        end = self._end_of_first(window, seen) if text else None
        if end is None:
            end = len(window) if self._keeps_stop else max(len(window) - self._reach, 0)
        end = max(end, len(self._sent))
        out = window[len(self._sent) : end]
        self._held = "" if self.matched is not None else window[end:]
        self._sent = _last(window[:end], self._reach)
        return out

    def flush(self) -> str:
        """Returns what was held back; the answer is over."""
        held, self._held = self._held, ""
        return held

    @property
    def pending(self) -> str:
        """What was generated and may not be sent yet."""
        return self._held

    def _end_of_first(self, window: str, seen: int) -> int | None:
        """Returns where to cut at the stop string that is complete first; ties by their order."""
        best: tuple[int, int, str] | None = None
        for stop in self._stops:
            at = window.find(stop, max(0, seen - len(stop) + 1))
            if at >= 0 and (best is None or at + len(stop) < best[0]):
                best = (at + len(stop), at, stop)
        if best is None:
            return None
        end, start, self.matched = best
        return end if self._keeps_stop else start


def _last(text: str, count: int) -> str:
    return text[max(0, len(text) - count) :] if count else ""
