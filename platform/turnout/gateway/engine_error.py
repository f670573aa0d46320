"""An engine's error answer in OpenAI's shape. Pure."""

import json

from turnout.gateway.errors import INVALID_REQUEST, ContextLengthExceeded, EngineRefused


def engine_error(
    status: int, body: bytes, prompt_field: str
) -> EngineRefused | ContextLengthExceeded:
    """Returns an engine's error answer in OpenAI's shape, whatever shape it came in."""
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = {}
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else {}
    if not isinstance(error, dict):
        error = {"message": str(error)}
    message = str(error.get("message") or error.get("detail") or f"the engine answered {status}")
    # vLLM's validator words every window error this way (tests/e2e checks that it still does).
    if status == 400 and "maximum context length" in message:
        return ContextLengthExceeded(message, prompt_field)
    kind = INVALID_REQUEST if 400 <= status < 500 else "server_error"
    return EngineRefused(status if 400 <= status < 600 else 502, message, kind, error.get("param"))
