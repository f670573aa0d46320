"""Asks another replica for the rest of an answer."""

import json

from turnout.gateway.api import PATHS
from turnout.gateway.attempt import Attempt
from turnout.gateway.errors import ReplicaLost, RequestError
from turnout.gateway.order import Order
from turnout.gateway.replicas import Replica
from turnout.gateway.resume import ask
from turnout.gateway.resume.chunk import Author, Chunk
from turnout.gateway.resume.plan import FromIds, FromText, Step, next_step
from turnout.gateway.resume.progress import Progress
from turnout.gateway.resume.safety import keeps_stop, stops_of
from turnout.gateway.resume.seam import held_text
from turnout.gateway.resume.stop import StopScanner
from turnout.gateway.resume.stream import ContinuedStream, Reader, ending
from turnout.gateway.transport import Transport

DETOKENIZE = "/detokenize"


class Onward:
    """One answer's seams: kept from loss to loss."""

    def __init__(self, order: Order, transport: Transport, progress: Progress) -> None:
        self._order, self._transport, self._progress = order, transport, progress
        self._scanner: StopScanner | None = None

    def step(self, lost: Replica) -> Step:
        """Returns how the answer goes on."""
        return next_step(
            self._order.request, self._progress, lost.context_window, self._scanner is not None
        )

    async def begin(self, attempt: Attempt, step: FromIds | FromText) -> Reader:
        """Returns the reader of the rest, whose stream has begun.

        Raises as `Attempt.stream` does, and `ReplicaLost` where the replica refuses to go on.
        """
        try:
            if isinstance(step, FromText):
                return await self._from_text(attempt, step)
            return await self._from_ids(attempt, step)
        except RequestError as error:
            problem = f"another replica of '{self._order.model}' could not go on"
            raise ReplicaLost(problem, 1) from error

    def ending(self, finish_reason: str | None) -> list[bytes]:
        """Returns the events that end an answer which is whole."""
        author = self._author
        events = [] if finish_reason is None else [author.text("", finish_reason)]
        shows_usage = self._order.request.wants_usage
        return [*events, *ending(self._progress, author, shows_usage=shows_usage)]

    async def _from_text(self, attempt: Attempt, step: FromText) -> Reader:
        order, progress = self._order, self._progress
        path = PATHS[order.request.endpoint]
        body = ask.continued_text(order.request, progress, order.model, step)
        await attempt.stream(path, body, order.request.prompt_field)
        return self._reader(StopScanner((), keeps_stop=True))

    async def _from_ids(self, attempt: Attempt, step: FromIds) -> Reader:
        order, progress = self._order, self._progress
        keep, held = step.keep, ""
        if step.needs_text:
            keep, held = await self._where_text_meets(attempt.replica, step)
        progress.back_to(keep)
        if self._scanner is None:
            self._scanner = StopScanner(
                stops_of(order.request),
                keeps_stop=keeps_stop(order.request),
                sent=progress.text,
                held=held,
            )
        body = ask.continued(order.request, progress, order.model, step.after(keep))
        await attempt.stream(PATHS["completions"], body, order.request.prompt_field)
        return self._reader(self._scanner)

    def _reader(self, scanner: StopScanner) -> Reader:
        self._progress.pieces_before = self._progress.pieces
        return ContinuedStream(
            self._progress,
            self._author,
            scanner,
            shows_usage=self._order.request.wants_usage,
            shows_ids=bool(self._order.request.fields.get("return_token_ids")),
        )

    @property
    def _author(self) -> Author:
        is_chat = self._order.request.endpoint == "chat"
        return Author(is_chat, self._progress.head or Chunk(model=self._order.model))

    async def _where_text_meets(self, replica: Replica, step: FromIds) -> tuple[int, str]:
        """Returns how many ids are whole characters, and the text held back after the known one."""
        known = self._progress.text + (self._scanner.pending if self._scanner else "")
        for keep in range(step.keep, step.keep - max(1, step.unsure), -1):
            decoded = await self._text_of(replica, self._progress.ids[:keep].tolist())
            held = held_text(decoded, known, step.hidden)
            if held is not None:
                return keep, held
        raise ReplicaLost(f"the text of '{self._order.model}' does not fit its token ids", 1)

    async def _text_of(self, replica: Replica, ids: list[int]) -> str:
        body = ask.detokenize(self._order.model, ids)
        async with self._transport.send(replica, DETOKENIZE, body) as answer:
            data = await answer.read()
        try:
            return str(json.loads(data)["prompt"])
        except (ValueError, KeyError, TypeError):
            raise ReplicaLost(f"no tokenizer of '{self._order.model}' answers", 1) from None
