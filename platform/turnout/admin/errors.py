"""What can go wrong with keys, teams and the admin API; answers are in OpenAI's shape.

RequestError (turnout.gateway.errors)
└── AdminError
    ├── 400   InvalidInput
    ├── 401   AdminKeyRefused
    ├── 404   NoSuchKey · NoSuchTeam · NothingHere
    ├── 409   KeyNotLive · TeamHasKeys
    ├── 413   TooMuchInput
    ├── 500   AdminFault         a bug: logged with its traceback
    └── 503   DatabaseAway
TurnoutError
├── NoAdminKey · WeakAdminKey · OpenAdminKeyFile · MalformedAdminKeys   the admin key's own faults
└── AdminRefused · AdminUnreachable · BadValue                          what the commands tell
"""

from types import MappingProxyType

from turnout.errors import TurnoutError
from turnout.gateway.errors import RequestError


class AdminError(RequestError):
    """The root of the admin API's error answers."""


class InvalidInput(AdminError):
    """A field, a parameter or the JSON itself is wrong; the value is not repeated."""

    code = "invalid_value"

    def __init__(self, param: str, problem: str) -> None:
        super().__init__(param, problem)
        self.param, self.problem = param, problem

    def __str__(self) -> str:
        return f"invalid value for '{self.param}': {self.problem}"


class AdminKeyRefused(AdminError):
    """The request came without the admin key."""

    status = 401
    code = "invalid_admin_key"
    headers = MappingProxyType({"www-authenticate": "Bearer"})

    def __str__(self) -> str:
        return "the admin API takes only its own key: send 'Authorization: Bearer <admin key>'"


class NothingHere(AdminError):
    """There is nothing at this path, or not with this method."""

    code = "unknown_url"

    def __init__(self, status: int, method: str, path: str) -> None:
        super().__init__(status, method, path)
        self.status, self.method, self.path = status, method, path

    def __str__(self) -> str:
        return f"nothing at {self.method} {self.path} (GET /openapi.json lists what there is)"


class NoSuchKey(AdminError):
    """No key has this id."""

    status = 404
    code = "key_not_found"

    def __init__(self, key_id: str) -> None:
        super().__init__(key_id)
        self.key_id = key_id

    def __str__(self) -> str:
        return f"there is no key with the id '{self.key_id}'"


class NoSuchTeam(AdminError):
    """No team has this name."""

    status = 404
    code = "team_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"there is no team '{self.name}': make it with `turnout teams set {self.name}`"


class KeyNotLive(AdminError):
    """The key was revoked, replaced or has expired."""

    status = 409
    code = "key_not_live"

    def __init__(self, key_id: str, because: str) -> None:
        super().__init__(key_id, because)
        self.key_id, self.because = key_id, because

    def __str__(self) -> str:
        return f"the key '{self.key_id}' {self.because}: create a new one"


class TeamHasKeys(AdminError):
    """The team cannot be deleted while keys of it work."""

    status = 409
    code = "team_has_keys"

    def __init__(self, name: str, keys: int) -> None:
        super().__init__(name, keys)
        self.name, self.keys = name, keys

    def __str__(self) -> str:
        return f"the team '{self.name}' has {self.keys} live keys: revoke them first"


class TooMuchInput(AdminError):
    """The request's body is larger than anything the admin API takes."""

    status = 413
    code = "request_too_large"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(limit_bytes)
        self.limit_bytes = limit_bytes

    def __str__(self) -> str:
        return f"the request body is above the admin API's {self.limit_bytes} bytes"


class AdminFault(AdminError):
    """Something in the admin API itself broke."""

    status = 500
    type = "server_error"
    code = "internal_error"

    def __str__(self) -> str:
        return "the admin API failed; its log has the cause"


class DatabaseAway(AdminError):
    """The database does not answer; nothing was changed."""

    status = 503
    type = "server_error"
    code = "database_unavailable"
    headers = MappingProxyType({"retry-after": "5"})

    def __str__(self) -> str:
        return "the database does not answer, and nothing was changed; try again in 5 s"


class NoAdminKey(TurnoutError):
    """Nothing says which admin key to use."""

    def __str__(self) -> str:
        return (
            "no admin key: start a deployment with `turnout up`, or set TURNOUT_ADMIN_KEY_FILE "
            "(or TURNOUT_ADMIN_KEY)"
        )


class WeakAdminKey(TurnoutError):
    """An admin key has too few characters, or too many."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__(low, high)
        self.low, self.high = low, high

    def __str__(self) -> str:
        return f"an admin key has {self.low} to {self.high} characters: make one from random bytes"


class OpenAdminKeyFile(TurnoutError):
    """Others than its owner can read the admin key's file."""

    def __init__(self, path: str, mode: int) -> None:
        super().__init__(path, mode)
        self.path, self.mode = path, mode

    def __str__(self) -> str:
        return f"{self.path} has mode {self.mode:o} and holds the admin key: `chmod 600` it"


class MalformedAdminKeys(TurnoutError):
    """A line of the admin keys is neither a key nor a name and a key; it is not repeated."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line} of the admin keys is neither 'KEY' nor 'NAME KEY'"


class AdminRefused(TurnoutError):
    """The admin API answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message

    def __str__(self) -> str:
        return self.message


class AdminUnreachable(TurnoutError):
    """The admin API does not answer."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def __str__(self) -> str:
        return (
            f"the admin API at {self.url} does not answer ({self.problem}): "
            "is the deployment running, and TURNOUT_ADMIN_URL right?"
        )


class BadValue(TurnoutError):
    """A command's option has a value that cannot be read."""

    def __init__(self, option: str, value: str, expected: str) -> None:
        super().__init__(option, value, expected)
        self.option, self.value, self.expected = option, value, expected

    def __str__(self) -> str:
        return f"{self.option} '{self.value}': expected {self.expected}"
