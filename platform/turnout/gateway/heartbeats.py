"""Signs of life for a client whose stream has to wait: SSE comments, which clients skip."""

from turnout.gateway.exchange import Exchange

MOMENT_S = 1.0
"""A wait shorter than this needs no sign of life."""
HEARTBEAT = b": waiting\n\n"
SSE = "text/event-stream; charset=utf-8"


class Heartbeats:
    """Those of one exchange; the first one sends the answer's head."""

    def __init__(self, exchange: Exchange, every_s: float) -> None:
        self._exchange, self._every_s = exchange, every_s
        self.due_s = 0.0

    def start(self, now_s: float) -> None:
        """Begins a wait."""
        self.due_s = now_s + MOMENT_S

    async def beat(self, now_s: float) -> None:
        """Sends a comment if one is due."""
        if now_s < self.due_s:
            return
        self.due_s = now_s + self._every_s
        if not self._exchange.has_begun:
            await self._exchange.begin(200, SSE, {"cache-control": "no-cache"})
        await self._exchange.write(HEARTBEAT)
