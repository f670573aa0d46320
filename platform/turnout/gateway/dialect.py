"""In which API's words a client asks and is answered; the gateway itself speaks OpenAI's. Pure."""

import json
from collections.abc import Collection, Sequence
from typing import Protocol

from turnout.gateway.api import Endpoint
from turnout.gateway.errors import RequestError
from turnout.gateway.request import GenerationRequest, parse
from turnout.gateway.sse import error_event


class Events(Protocol):
    """Translates one stream; keeps what it must know of the events before."""

    def feed(self, events: Sequence[bytes]) -> bytes:
        """Returns what the client gets for these whole events of the engine's stream."""
        ...


class Dialect(Protocol):
    """One API's request, answer, stream and error."""

    @property
    def name(self) -> str:
        """The endpoint's short name, for metrics and usage."""
        ...

    def for_exchange(self) -> "Dialect":
        """Returns the dialect of one exchange, which may keep what it must know of its request."""
        ...

    def request(self, raw: bytes, engine_fields: Collection[str]) -> GenerationRequest:
        """Reads a body into the gateway's own words; raises a `RequestError`."""
        ...

    def whole(self, data: bytes) -> bytes:
        """Returns what the client gets for an engine's whole answer."""
        ...

    def events(self) -> Events:
        """Returns the translator of one stream."""
        ...

    def error(self, error: RequestError) -> bytes:
        """Returns an error's body."""
        ...

    def error_event(self, error: RequestError) -> bytes:
        """Returns the event that ends a broken stream."""
        ...


class _AsTheyCome:
    """Passes events on."""

    def feed(self, events: Sequence[bytes]) -> bytes:
        return b"".join(events)


class OpenAI:
    """OpenAI's own endpoints: what engines speak, passed on as it is."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    @property
    def name(self) -> str:
        """`chat` or `completions`."""
        return self.endpoint

    def for_exchange(self) -> "OpenAI":
        """Returns itself."""
        return self

    def request(self, raw: bytes, engine_fields: Collection[str]) -> GenerationRequest:
        """Checks a body against the endpoint's fields."""
        return parse(self.endpoint, raw, engine_fields)

    def whole(self, data: bytes) -> bytes:
        """Returns the engine's answer."""
        return data

    def events(self) -> Events:
        """Returns a translator that changes nothing."""
        return _AsTheyCome()

    def error(self, error: RequestError) -> bytes:
        """Returns `{"error": {message, type, param, code}}`."""
        return json.dumps(error.body()).encode()

    def error_event(self, error: RequestError) -> bytes:
        """Returns the error as an event."""
        return error_event(error.body())
