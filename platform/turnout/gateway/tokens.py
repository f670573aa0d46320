"""Asks a replica's own tokenizer how long a prompt is, chat template included."""

import json

from turnout.gateway.dispatch import CountTokens
from turnout.gateway.replicas import Replica
from turnout.gateway.request import GenerationRequest
from turnout.gateway.transport import AnswerBroken, ReplicaUnreachable, Transport

PATH = "/tokenize"
_CHAT_FIELDS = ("messages", "tools", "chat_template_kwargs", "continue_final_message")


def token_counter(transport: Transport) -> CountTokens:
    """Returns a function that counts a request's prompt tokens with a given replica's tokenizer.

    It gives None where the replica cannot tell (gone, or a prompt it refuses): then the bound
    stands and the engine has the last word.
    """

    async def count(replica: Replica, request: GenerationRequest) -> int | None:
        body = _question(request, replica.model)
        if body is None:
            return None
        try:
            async with transport.send(replica, PATH, json.dumps(body).encode()) as answer:
                counted = json.loads(await answer.read())
                return int(counted["count"]) if answer.status == 200 else None
        except (ReplicaUnreachable, AnswerBroken, ValueError, KeyError, TypeError):
            return None

    return count


def _question(request: GenerationRequest, model: str) -> dict[str, object] | None:
    if request.endpoint == "chat":
        asked = {name: request.fields[name] for name in _CHAT_FIELDS if name in request.fields}
        return {"model": model, **asked}
    prompt = request.fields["prompt"]
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str):
        prompt = max(prompt, key=len)
    return {"model": model, "prompt": prompt} if isinstance(prompt, str) else None
