"""The bodies that go to engines: the client's request, and what asks for the rest of it. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.gateway.request import GenerationRequest
from turnout.gateway.resume.plan import FromIds, FromText
from turnout.gateway.resume.progress import Progress
from turnout.gateway.resume.safety import SAMPLING, stops_of

USAGE = {"include_usage": True}


def first(request: GenerationRequest, model: str, *, asks_ids: bool) -> bytes:
    """Returns the body of a request's first sending.

    Streams ask for usage and, with `asks_ids`, for token ids; the client sees neither unless it
    asked. An echoed prompt is sent without ids: engines leave the echo out beside them.
    """
    asks_ids = asks_ids and request.is_stream and not request.fields.get("echo")
    if not asks_ids or request.fields.get("return_token_ids"):
        return request.for_engine(model)
    options = request.fields.get("stream_options") or {}
    more = {"model": model, "stream_options": {**options, **USAGE}, "return_token_ids": True}
    return msgspec.json.encode({**request.fields, **more})


def continued(request: GenerationRequest, progress: Progress, model: str, step: FromIds) -> bytes:
    """Returns the body that asks for the tokens after those kept: always a completion.

    The gateway looks for stop strings itself, over the seam; the engine, which finds those that lie
    after it, is to hold nothing back. A seed is moved on by the tokens there are: with the same one
    the engine would draw the same numbers once more.
    """
    fields = request.fields
    body: dict[str, Any] = {
        name: value
        for name, value in fields.items()
        if name in SAMPLING and value is not None  # null is the default, spelled out
    }
    if body.get("seed") is not None:
        body["seed"] = (body["seed"] + step.keep) % 2**63
    if body.get("min_tokens"):
        body["min_tokens"] = max(0, body["min_tokens"] - step.keep)
    if stops := stops_of(request):
        body |= {"stop": stops, "include_stop_str_in_output": True}
    kept = progress.ids[: step.keep].tolist()
    body |= _stream(model, step.max_tokens)
    body |= {"prompt": [*(progress.prompt_ids or ()), *kept], "return_token_ids": True}
    return msgspec.json.encode(body)


def continued_text(
    request: GenerationRequest, progress: Progress, model: str, step: FromText
) -> bytes:
    """Returns the body that asks for the text after the one there is.

    Held back characters need no care here: they are generated again.
    """
    body: dict[str, Any] = {**request.fields, **_stream(model, step.max_tokens)}
    body.pop("max_completion_tokens", None)
    if step.max_tokens is None:
        del body["max_tokens"]
    said = progress.text
    if request.endpoint == "completions":
        return msgspec.json.encode({**body, "prompt": request.fields["prompt"] + said})
    if said:
        answer: Mapping[str, Any] = {"role": "assistant", "content": said}
        body["messages"] = [*request.fields["messages"], answer]
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    return msgspec.json.encode(body)


def _stream(model: str, max_tokens: int | None) -> dict[str, Any]:
    return {"model": model, "stream": True, "stream_options": USAGE, "max_tokens": max_tokens}


def detokenize(model: str, ids: list[int]) -> bytes:
    """Returns the body that asks a replica's tokenizer for the text of ids."""
    return msgspec.json.encode({"model": model, "tokens": ids})
