"""Answers what only a model's own tokenizer knows: `/tokenize`, `/detokenize`, counts of tokens."""

import json
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from pydantic import BaseModel

from turnout.access.caller import Caller
from turnout.config.settings import AUTO
from turnout.gateway.body import checked
from turnout.gateway.dialects.messages import counted
from turnout.gateway.dispatch import Dispatcher
from turnout.gateway.engine_error import engine_error
from turnout.gateway.errors import InvalidField, NoReadyReplica, NotCapable
from turnout.gateway.exchange import Exchange
from turnout.gateway.media import check_media
from turnout.gateway.replicas import Replica, ReplicaTable
from turnout.gateway.tokenizer_api import Detokenize, Tokenize
from turnout.gateway.tokens import PATH as TOKENIZE
from turnout.gateway.tokens import question
from turnout.gateway.transport import AnswerBroken, ReplicaUnreachable, Transport

DETOKENIZE = "/detokenize"
BODIES: Mapping[str, type[BaseModel]] = {TOKENIZE: Tokenize, DETOKENIZE: Detokenize}


class TokenizerPages:
    """Passes questions to a ready replica of the model they name."""

    def __init__(self, table: ReplicaTable, transport: Transport) -> None:
        self._table, self._transport = table, transport

    async def ask(
        self, exchange: Exchange, raw: bytes, caller: Caller, dispatcher: Dispatcher
    ) -> None:
        """Answers `/tokenize` and `/detokenize` with the engine's own answer.

        Raises a `RequestError`.
        """
        catalog = dispatcher.catalog
        fields = checked(raw, BODIES[exchange.path], catalog.settings.engine_fields)
        check_media(fields, catalog.settings.media_hosts)
        model = catalog.resolve(fields["model"], caller)
        if model == AUTO:
            raise InvalidField("model", "name one model: each has its own tokenizer")
        exchange.model, exchange.decision = model, "requested"
        body = {**fields, "model": model}
        field = "prompt" if "prompt" in fields else "messages"
        await exchange.answer(await self._asked(exchange.path, body, field, dispatcher))

    async def count(
        self, exchange: Exchange, raw: bytes, caller: Caller, dispatcher: Dispatcher
    ) -> None:
        """Answers Anthropic's question for the tokens of a prompt; raises a `RequestError`."""
        catalog = dispatcher.catalog
        request = counted(raw, catalog.settings.engine_fields)
        check_media(request.fields, catalog.settings.media_hosts)
        exchange.model, exchange.decision = catalog.resolve(request.model, caller), "requested"
        if exchange.model == AUTO:
            decision = await dispatcher.decide(request, caller)
            exchange.model, exchange.decision = decision.model, decision.because
        body = question(request, exchange.model)
        told = json.loads(await self._asked(TOKENIZE, body, "messages", dispatcher))
        await exchange.answer(msgspec.json.encode({"input_tokens": told["count"]}))

    async def _asked(
        self, path: str, body: Mapping[str, Any], prompt_field: str, dispatcher: Dispatcher
    ) -> bytes:
        """Returns the answer of the first replica that gives one."""
        if dispatcher.catalog.model(body["model"]).upstream is not None:
            raise NotCapable(f"'{body['model']}' is served elsewhere: nobody here knows its tokens")
        data = msgspec.json.encode(body)
        for replica in _in_any_order(self._table.replicas(body["model"])):
            try:
                async with self._transport.send(replica, path, data) as answer:
                    told = await answer.read()
            except (ReplicaUnreachable, AnswerBroken):
                continue
            if answer.status != 200:
                raise engine_error(answer.status, told, prompt_field)
            return told
        retry_after_s = dispatcher.catalog.settings.limits.retry_after_s
        raise NoReadyReplica(f"no replica of '{body['model']}' is ready", retry_after_s)


def _in_any_order(replicas: Collection[Replica]) -> Sequence[Replica]:
    return random.sample(list(replicas), len(replicas))
