"""A replica's app that answers its gateway only: who has the port's key.

The replica tells the key to the cluster (`record_replica_metadata`), and the gateway sends it as a
bearer token.
"""

import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

KEY_FILE = "TURNOUT_REPLICA_KEY_FILE"
"""In the environment: a file with the key; without it every replica makes its own."""
OPEN_PATHS = frozenset(("/health", "/metrics"))
"""What monitoring reads: counts and times, no text of anybody's."""
_REFUSAL = json.dumps(
    {"error": {"message": "this port answers its gateway only", "type": "invalid_request_error"}}
).encode()


def port_key(environment: Mapping[str, str]) -> str:
    """Returns the key of a replica that starts: its file's, else a new one; raises OSError."""
    path = environment.get(KEY_FILE)
    return Path(path).read_text().strip() if path else secrets.token_hex(32)


class Locked:
    """An ASGI app that answers only who sends the key; `OPEN_PATHS` to all."""

    def __init__(self, app: Callable[..., Any], key: str) -> None:
        self._app, self._expected = app, b"Bearer " + key.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answers 401 without the key."""
        if scope["type"] != "lifespan" and not self._may_pass(scope):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close"})
                return
            head = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": head})
            await send({"type": "http.response.body", "body": _REFUSAL})
            return
        await self._app(scope, receive, send)

    def _may_pass(self, scope: Any) -> bool:
        if scope["path"] in OPEN_PATHS and scope.get("method") in ("GET", "HEAD"):
            return True
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(sent) == 1 and hmac.compare_digest(sent[0], self._expected)
