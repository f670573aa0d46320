"""What the gateway answers when it cannot answer, in OpenAI's shape.

RequestError
├── 400                       MalformedJson · InvalidField · UnknownField · ContextLengthExceeded
│                             NotCapable · MediaRefused
├── 401, 403                  Unauthorized · Forbidden
├── 404                       UnknownPath · UnknownModel · UsageNotKept
├── 405, 408, 413             MethodNotAllowed · BodyTooSlow · BodyTooLarge
├── LimitReached 429          a rate, a concurrency or a budget
├── QueueFull 429             too many requests of one model wait
├── EngineRefused             the engine's own 4xx or 5xx, reshaped
├── Unavailable 503           NoReadyReplica · ReplicaLost · KeysUnavailable · UsageUnavailable
│                             DeadlineUnreachable
├── RequestTimedOut 504
└── GatewayFault 500          a bug: logged with its traceback

Messages never repeat prompts, headers or keys; of a request they name fields only.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from turnout.errors import TurnoutError
from turnout.limits.claim import Refusal

INVALID_REQUEST = "invalid_request_error"


class RequestError(TurnoutError):
    """A request that ends in an error answer; `status`, `type` and `code` are OpenAI's."""

    status: int = 400
    type: str = INVALID_REQUEST
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = MappingProxyType({})

    def body(self) -> dict[str, Any]:
        """Returns the answer's JSON: `{"error": {message, type, param, code}}`."""
        error = {"message": str(self), "type": self.type, "param": self.param, "code": self.code}
        return {"error": error}


class MalformedJson(RequestError):
    """The body is not a JSON object."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the request body is not a JSON object: {self.problem}"


class InvalidField(RequestError):
    """A field has the wrong type or a value out of range."""

    def __init__(self, param: str, problem: str) -> None:
        super().__init__(param, problem)
        self.param = param
        self.problem = problem

    def __str__(self) -> str:
        return f"invalid value for '{self.param}': {self.problem}"


class UnknownField(RequestError):
    """A field that is neither OpenAI's nor on the allow-list of engine fields."""

    code = "unknown_parameter"

    def __init__(self, param: str) -> None:
        super().__init__(param)
        self.param = param

    def __str__(self) -> str:
        return (
            f"unrecognized request argument: '{self.param}' (engine-only fields pass only "
            "when the gateway's engine_fields lists them)"
        )


class ContextLengthExceeded(RequestError):
    """The prompt, or the prompt with its max_tokens, is beyond the window."""

    code = "context_length_exceeded"

    def __init__(self, problem: str, param: str) -> None:
        super().__init__(problem, param)
        self.problem = problem
        self.param = param

    def __str__(self) -> str:
        return self.problem


class NotCapable(RequestError):
    """No model on offer can do what the request asks for."""

    code = "unsupported_capability"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem


class MediaRefused(RequestError):
    """A message brings media that engines may not fetch."""

    code = "media_not_allowed"

    def __init__(self, param: str, problem: str) -> None:
        super().__init__(param, problem)
        self.param, self.problem = param[:128], problem

    def __str__(self) -> str:
        return f"invalid value for '{self.param}': {self.problem}"


class Unauthorized(RequestError):
    """The request came without a key that is valid here."""

    status = 401
    code = "invalid_api_key"
    headers = MappingProxyType({"www-authenticate": "Bearer"})

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.problem}; send 'Authorization: Bearer sk-…' with a key of this gateway"


class Forbidden(RequestError):
    """The key is valid, but not for this."""

    status = 403
    code = "insufficient_scope"

    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.scope = scope

    def __str__(self) -> str:
        return f"this key lacks the scope '{self.scope}'"


class LimitReached(RequestError):
    """The key or its team has used what it may."""

    status = 429

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self.refusal = refusal
        self.type = "insufficient_quota" if refusal.reason == "budget" else refusal.reason
        self.code = "insufficient_quota" if refusal.reason == "budget" else "rate_limit_exceeded"
        wait = str(max(1, math.ceil(refusal.retry_after_s)))
        self.headers = {"retry-after": wait, **refusal.headers}

    def __str__(self) -> str:
        return self.refusal.message


class UnknownPath(RequestError):
    """There is nothing at this path."""

    status = 404
    code = "unknown_url"

    def __init__(self, method: str, path: str) -> None:
        super().__init__(method, path)
        self.method, self.path = method, path

    def __str__(self) -> str:
        return f"unknown request URL: {self.method} {self.path} (GET /openapi.json lists them)"


class UnknownModel(RequestError):
    """No model has this name."""

    status = 404
    code = "model_not_found"
    param = "model"

    def __init__(self, model: str, known: Sequence[str]) -> None:
        super().__init__(model, known)
        self.model, self.known = model, tuple(known)

    def __str__(self) -> str:
        return f"the model '{self.model}' does not exist; models here: {', '.join(self.known)}"


class UsageNotKept(RequestError):
    """This gateway keeps no usage records."""

    status = 404
    code = "usage_not_kept"

    def __str__(self) -> str:
        return "this gateway keeps no usage records: it runs without a database"


class MethodNotAllowed(RequestError):
    """The path exists but not with this method."""

    status = 405
    code = "method_not_allowed"

    def __init__(self, method: str, path: str, allowed: Sequence[str]) -> None:
        super().__init__(method, path, allowed)
        self.method, self.path, self.allowed = method, path, tuple(allowed)
        self.headers = {"allow": ", ".join(allowed)}

    def __str__(self) -> str:
        return f"{self.path} takes {' or '.join(self.allowed)}, not {self.method}"


class BodyTooSlow(RequestError):
    """The request body did not come in time."""

    status = 408
    code = "request_body_timeout"
    headers = MappingProxyType({"connection": "close"})

    def __init__(self, timeout_s: float) -> None:
        super().__init__(timeout_s)
        self.timeout_s = timeout_s

    def __str__(self) -> str:
        return f"the request body was not whole after this gateway's {self.timeout_s:g} s"


class BodyTooLarge(RequestError):
    """The request body is above the limit."""

    status = 413
    code = "request_too_large"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(limit_bytes)
        self.limit_bytes = limit_bytes

    def __str__(self) -> str:
        return f"the request body is above this gateway's limit of {self.limit_bytes} bytes"


class EngineRefused(RequestError):
    """The engine answered with an error of its own; its words in OpenAI's shape."""

    def __init__(self, status: int, message: str, kind: str, param: str | None) -> None:
        super().__init__(status, message, kind, param)
        self.status, self.message, self.type, self.param = status, message, kind, param

    def __str__(self) -> str:
        return self.message


class Unavailable(RequestError):
    """Nothing here can answer now; the client may try again."""

    status = 503
    type = "server_error"

    def __init__(self, problem: str, retry_after_s: int) -> None:
        super().__init__(problem, retry_after_s)
        self.problem, self.retry_after_s = problem, retry_after_s
        self.headers = {"retry-after": str(retry_after_s)}

    def __str__(self) -> str:
        return f"{self.problem}; try again in {self.retry_after_s} s"


class NoReadyReplica(Unavailable):
    """No replica of the wanted model is ready."""

    code = "no_ready_replica"


class DeadlineUnreachable(Unavailable):
    """The first token cannot come by the request's deadline."""

    code = "deadline_unreachable"


class QueueFull(Unavailable):
    """As many requests as may wait for a model do, none of them less urgent."""

    status = 429
    type = "requests"
    code = "queue_full"


class ReplicaLost(Unavailable):
    """The replica broke off while it was answering."""

    code = "replica_lost"


class KeysUnavailable(Unavailable):
    """The key is not known to this gateway yet, and the store that has it does not answer."""

    code = "keys_unavailable"


class UsageUnavailable(Unavailable):
    """The database with the usage records cannot be read now."""

    code = "usage_unavailable"


class RequestTimedOut(RequestError):
    """The request took longer than the gateway allows."""

    status = 504
    type = "server_error"
    code = "timeout"

    def __init__(self, timeout_s: float) -> None:
        super().__init__(timeout_s)
        self.timeout_s = timeout_s

    def __str__(self) -> str:
        return f"the request took longer than this gateway's {self.timeout_s:g} s; ask for less"


class GatewayFault(RequestError):
    """Something in the gateway itself broke; the log has the cause under the request's id."""

    status = 500
    type = "server_error"
    code = "internal_error"

    def __init__(self, request_id: str) -> None:
        super().__init__(request_id)
        self.request_id = request_id

    def __str__(self) -> str:
        return f"the gateway failed; its log has the cause under request id {self.request_id}"
