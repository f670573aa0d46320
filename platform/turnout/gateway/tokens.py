"""Asks a replica's own tokenizer how long a prompt is, chat template included."""

import json
from typing import Any

from turnout.config.upstream_settings import UPSTREAM
from turnout.gateway.dispatch import CountTokens
from turnout.gateway.replicas import Replica
from turnout.gateway.request import GenerationRequest
from turnout.gateway.transport import AnswerBroken, ReplicaUnreachable, Transport

PATH = "/tokenize"
_CHAT_FIELDS = (
    *("messages", "tools", "chat_template", "chat_template_kwargs"),
    *("add_generation_prompt", "continue_final_message", "add_special_tokens"),
)


def token_counter(transport: Transport) -> CountTokens:
    """Returns a function that counts a request's prompt tokens with a given replica's tokenizer.

    It gives None where the replica cannot tell: it is gone, an upstream, or refuses the prompt.
    """

    async def count(replica: Replica, request: GenerationRequest) -> int | None:
        if replica.market == UPSTREAM:
            return None
        body = json.dumps(question(request, replica.model)).encode()
        try:
            async with transport.send(replica, PATH, body) as answer:
                counted = json.loads(await answer.read())
                return int(counted["count"]) if answer.status == 200 else None
        except (ReplicaUnreachable, AnswerBroken, ValueError, KeyError, TypeError):
            return None

    return count


def question(request: GenerationRequest, model: str) -> dict[str, Any]:
    """Returns the body that asks a tokenizer for a request's prompt."""
    if request.endpoint == "chat":
        asked = {name: request.fields[name] for name in _CHAT_FIELDS if name in request.fields}
        return {"model": model, **asked}
    prompt = request.fields["prompt"]
    longest = prompt if isinstance(prompt, str) else max(prompt, key=len)
    return {"model": model, "prompt": longest}
