"""The fallback transport: through a Serve handle, where a replica's port cannot be reached."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from turnout.config.settings import GatewaySettings
from turnout.gateway.replicas import Replica
from turnout.gateway.transport import (
    Answer,
    AnswerBroken,
    DirectTransport,
    ReplicaUnreachable,
)

Handles = Callable[[str, str], DeploymentHandle[Any]]


class HandleTransport:
    """Sends through the pool's handle: Serve, not the gateway, picks the replica then."""

    def __init__(self, handles: Handles) -> None:
        self._handles = handles

    @asynccontextmanager
    async def send(self, replica: Replica, path: str, body: bytes) -> AsyncIterator[Answer]:
        """Yields the answer; leaving early cancels the call and with it the engine's work."""
        handle = self._handles(replica.model, replica.market)
        parts: Any = handle.options(method_name="asgi", stream=True).remote(path, body)
        try:
            status, headers = await anext(parts)
        except (RayError, RayServeException) as error:
            raise ReplicaUnreachable(replica.id, type(error).__name__) from error
        kinds = [value for name, value in headers if name == b"content-type"]
        content_type = kinds[0].decode("latin-1") if kinds else "application/json"
        async with aclosing(_chunks(replica.id, parts)) as chunks:
            try:
                yield Answer(status, content_type, chunks)
            finally:
                parts.cancel()


async def _chunks(replica_id: str, parts: Any) -> AsyncGenerator[bytes]:
    try:
        async for part in parts:
            yield part
    except (RayError, RayServeException) as error:
        raise AnswerBroken(replica_id, type(error).__name__) from error


class PreferDirect:
    """Streams directly where the replica's port can be reached, else through its handle."""

    def __init__(self, direct: DirectTransport, handle: HandleTransport) -> None:
        self._direct = direct
        self._handle = handle
        self._always_handle = False

    def configure(self, settings: GatewaySettings) -> None:
        """Takes the operator's choice and time limits for the requests to come."""
        self._always_handle = settings.transport == "handle"
        self._direct.configure(settings.limits.connect_timeout_s)

    def send(self, replica: Replica, path: str, body: bytes) -> AbstractAsyncContextManager[Answer]:
        """Sends over the path that this replica can be reached by."""
        is_direct = replica.address is not None and not self._always_handle
        return (self._direct if is_direct else self._handle).send(replica, path, body)
