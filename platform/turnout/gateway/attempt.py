"""One sending of a request to one replica; closing it stops the engine's work."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from turnout.errors import TurnoutError
from turnout.gateway.balance.job import Job
from turnout.gateway.balancer import Balancer
from turnout.gateway.engine_error import engine_error
from turnout.gateway.errors import RequestError
from turnout.gateway.replicas import Replica
from turnout.gateway.retry import RETRIED_STATUSES
from turnout.gateway.sse import Usage
from turnout.gateway.transport import Answer, AnswerBroken, Transport


class _Whole(msgspec.Struct):
    """All that is read of an answer in one piece."""

    usage: Any = None


_decode = msgspec.json.Decoder(_Whole).decode


def usage_of(data: bytes) -> Usage | None:
    """Returns the usage of a whole answer; raises `msgspec.DecodeError` where it is no JSON."""
    try:
        return Usage.of({"usage": _decode(data).usage})
    except msgspec.ValidationError:  # no object
        msgspec.json.decode(data)
        return None


class EngineFailed(TurnoutError):
    """A replica answered that its engine failed: another may be tried."""

    def __init__(self, replica_id: str, told: RequestError) -> None:
        super().__init__(replica_id, told)
        self.replica_id, self.told = replica_id, told

    @property
    def problem(self) -> str:
        """What went wrong, in a word for the log."""
        return f"status {self.told.status}"

    def __str__(self) -> str:
        return f"replica {self.replica_id} answered with status {self.told.status}"


class Attempt:
    """Counts itself on its replica from the beginning to `close`."""

    def __init__(
        self,
        balancer: Balancer,
        transport: Transport,
        replica: Replica,
        job: Job,
        on_head: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_head` is called when the replica begins to answer."""
        self._on_head = on_head
        self._balancer, self._transport, self._job = balancer, transport, job
        self.replica = replica
        self.output_tokens = 0
        """Tokens that this replica generated, for the balancer; 0 where nobody counted."""
        self._context: AbstractAsyncContextManager[Answer] | None = None
        self.rest: AsyncIterator[bytes]
        """A stream's further bytes."""
        self.content_type = ""
        self.first = b""
        """A stream's first bytes."""
        self.ttft_s = 0.0
        self._is_counted = True
        balancer.begin(replica, job)

    async def whole(self, path: str, body: bytes, prompt_field: str) -> tuple[bytes, Usage | None]:
        """Returns the answer as it came, and its usage.

        Raises `ReplicaUnreachable`, `AnswerBroken`, `EngineFailed`, or the engine's refusal.
        """
        answer = await self._answer(path, body, prompt_field)
        data = await answer.read()
        try:
            used = usage_of(data)
        except (msgspec.DecodeError, RecursionError):
            raise AnswerBroken(self.replica.id, "not JSON") from None
        self._balancer.answered(self.replica, None, self._job)
        return data, used

    async def stream(self, path: str, body: bytes, prompt_field: str) -> None:
        """Waits for a stream's first bytes; raises as `whole` does."""
        sent_s = time.perf_counter()
        answer = await self._answer(path, body, prompt_field)
        self.rest = answer.chunks
        try:
            self.first = await anext(self.rest)
        except StopAsyncIteration:
            raise AnswerBroken(self.replica.id, "no event") from None
        self.ttft_s = time.perf_counter() - sent_s
        self._balancer.answered(self.replica, self.ttft_s, self._job)

    async def _answer(self, path: str, body: bytes, prompt_field: str) -> Answer:
        self._context = self._transport.send(self.replica, path, body)
        answer = await self._context.__aenter__()
        self._on_head()
        self.content_type = answer.content_type
        if answer.status != 200:
            error = engine_error(answer.status, await answer.read(), prompt_field)
            if answer.status in RETRIED_STATUSES:
                raise EngineFailed(self.replica.id, error)
            raise error
        return answer

    async def close(self) -> None:
        """Ends it, wherever it is; further calls do nothing."""
        if not self._is_counted:
            return
        self._is_counted = False
        try:
            if self._context is not None:
                await self._context.__aexit__(None, None, None)
        finally:
            self._balancer.end(self.replica, self._job, self.output_tokens)
