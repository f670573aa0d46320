"""Delivers streams: on the replica that begins first, and on others when that one is lost."""

import logging

from turnout.config.upstream_settings import UPSTREAM
from turnout.gateway.api import PATHS
from turnout.gateway.attempt import Attempt
from turnout.gateway.fleet import Fleet
from turnout.gateway.onward import Onward
from turnout.gateway.order import Order
from turnout.gateway.race import first_to_begin
from turnout.gateway.replicas import Replica
from turnout.gateway.resume import ask
from turnout.gateway.resume.plan import Again, End, GiveUp, Step
from turnout.gateway.resume.progress import Progress
from turnout.gateway.resume.stream import EngineStream, Reader
from turnout.gateway.search import LOST, Search
from turnout.gateway.stall import StallWatch
from turnout.gateway.transport import AnswerBroken

log = logging.getLogger(__name__)


class StreamDelivery:
    """One stream to one client, over as many replicas as that takes."""

    def __init__(self, order: Order, fleet: Fleet, search: Search) -> None:
        self._order, self._fleet, self._search = order, fleet, search
        self._exchange, self._request, self._meter = order.exchange, order.request, order.meter
        self._is_counted = False
        self._restart()

    def _restart(self) -> None:
        self._progress = Progress(answers=self._request.fields.get("n") or 1)
        self._onward = Onward(self._order, self._fleet.transport, self._progress)

    async def run(self) -> None:
        """Answers the exchange; raises what the client is told where no replica can go on."""
        step: Step = Again("new")
        try:
            while not isinstance(step, End):
                replica = await self._search.next()
                step = await self._try(replica, step) or step
                if self._exchange.has_ended:
                    return
            await self._send(self._onward.ending(step.finish_reason), is_done=True)
        finally:
            self._note_usage()

    async def _try(self, replica: Replica, step: Step) -> Step | None:
        """Gets as far as this replica does; returns what is to be done after it was lost."""
        attempt = self._attempt(replica)
        tokens_before = self._progress.tokens
        try:
            attempt, reader = await self._begun(attempt, step)
            await self._pass_on(attempt, reader)
            return None
        except LOST as error:
            self._search.failed(error)
            return self._after_loss(attempt.replica, step)
        finally:
            attempt.output_tokens = max(0, self._progress.tokens - tokens_before)
            await attempt.close()

    def _attempt(self, replica: Replica) -> Attempt:
        self._meter.sent(replica.id, replica.market)
        return Attempt(
            self._fleet.balancer, self._fleet.transport, replica, self._order.job, self._on_head
        )

    def _on_head(self) -> None:
        if not self._exchange.has_begun:
            self._exchange.mark("replica")

    async def _begun(self, attempt: Attempt, step: Step) -> tuple[Attempt, Reader]:
        if not isinstance(step, Again | End | GiveUp):
            return attempt, await self._onward.begin(attempt, step)
        attempt = await self._first(attempt)
        reader = EngineStream(
            self._progress,
            shows_usage=self._request.wants_usage,
            shows_ids=bool(self._request.fields.get("return_token_ids")),
        )
        return attempt, reader

    async def _first(self, attempt: Attempt) -> Attempt:
        """Returns the attempt whose stream has begun: this one, or a hedge's where it is late."""
        order, hedges = self._order, self._fleet.hedges[self._order.model]
        body = ask.first(self._request, order.model, asks_ids=order.failover.asks_token_ids)
        path, prompt_field = PATHS[self._request.endpoint], self._request.prompt_field

        async def begin(attempt: Attempt) -> None:
            await attempt.stream(path, body, prompt_field)

        hedges.request(order.failover.hedge_share)
        late_s = hedges.late_s
        if late_s is None or len(self._fleet.table.replicas(order.model)) < 2:
            await begin(attempt)
        else:
            first = attempt
            attempt = await first_to_begin(
                first, begin, late_s, lambda: self._hedge(first.replica), self._search.failed
            )
            if attempt is not first:
                self._meter.market = attempt.replica.market
                self._meter.replica_id = attempt.replica.id
                self._fleet.metrics.hedges_won(order.model).inc()
        hedges.learn(attempt.ttft_s)
        return attempt

    def _hedge(self, late: Replica) -> Attempt | None:
        other = self._search.another(late.id)
        if other is None or not self._fleet.balancer.has_place(other):
            return None  # where all replicas are busy a second request makes others late
        if not self._fleet.hedges[self._order.model].take():
            return None
        self._fleet.metrics.hedges(self._order.model).inc()
        return self._attempt(other)

    async def _pass_on(self, attempt: Attempt, reader: Reader) -> None:
        """Sends on what comes; raises `AnswerBroken` where it ends too early."""
        name = attempt.replica.id
        try:
            async with StallWatch(self._order.failover.stall_timeout_s) as watch:
                data: bytes | None = attempt.first
                while data is not None:
                    watch.heard()
                    events = reader.feed(data)
                    if events:
                        watch.is_sending = True
                        await self._show(attempt, events, is_done=reader.is_done)
                        watch.is_sending = False
                    if reader.failure:
                        raise AnswerBroken(name, reader.failure)
                    if reader.is_done and reader.engine_goes_on:
                        return
                    # After [DONE], too: a connection whose answer was read whole is used again.
                    data = await anext(attempt.rest, None)
        except TimeoutError:
            if not reader.is_done:
                raise AnswerBroken(name, "stalled") from None
        except AnswerBroken:
            if not reader.is_done:
                raise
        if not reader.is_done:
            raise AnswerBroken(name, "no [DONE]")

    async def _show(self, attempt: Attempt, events: list[bytes], *, is_done: bool) -> None:
        self._meter.got()
        if attempt.replica.market == UPSTREAM and not self._progress.prompt_tokens:
            # Until its usage comes: what it was sent is paid, though the client may leave.
            self._progress.prompt_tokens = self._request.prompt_tokens_expected
        await self._begin_once(attempt)
        await self._send(events, is_done=is_done)

    async def _begin_once(self, attempt: Attempt) -> None:
        if self._search.is_resuming:
            self._search.went_on()
            return
        self._search.is_resuming = True
        exchange = self._exchange
        exchange.mark("first")
        self._fleet.metrics.ttft_s(self._order.model).observe(exchange.elapsed_s())
        if not exchange.has_begun:
            await exchange.begin(200, attempt.content_type, {"cache-control": "no-cache"})

    async def _send(self, events: list[bytes], *, is_done: bool) -> None:
        if is_done:
            self._note_usage()
        await self._exchange.send_events(events, last=is_done)

    def _after_loss(self, lost: Replica, step: Step) -> Step:
        if not self._search.is_resuming:  # nothing has reached the client
            self._restart()
            return Again("nothing was sent")
        if not self._order.failover.resumes_streams:
            raise self._search.told()
        onward = self._onward.step(lost)
        log.warning(
            "stream_lost",
            extra={
                "request_id": self._exchange.id,
                "step": type(onward).__name__,
                "because": onward.because,
            },
        )
        if isinstance(onward, GiveUp):
            raise self._search.told()
        self._fleet.metrics.resumes(self._order.model).inc()
        return onward

    def _note_usage(self) -> None:
        """Charges what the client has of the answer; counts it once, when it has ended."""
        self._meter.usage = used = self._progress.used
        if not self._is_counted and (used.prompt_tokens or used.completion_tokens):
            self._is_counted = True
            self._fleet.count(self._order.model, used)
